import { query, setQuery } from '../../data/place.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/copy.tsx';
import { pullLine, type Tool, tools } from './commands.ts';

interface PullLinesProps {
  slug: string;
  repo: string;
  /** Tags and digests, and what people call each way. */
  references: readonly { label: string; reference: string }[];
}

/** How this image is pulled, by each of the usual programs. Which one is in the address. */
export function PullLines({ slug, repo, references }: PullLinesProps) {
  const tool: Tool = tools.find((one) => one === query.value.get('tool')) ?? 'docker';
  return (
    <section aria-label="Pull it">
      <p class="buttons">
        {tools.map((one) => (
          <Button key={one} small pressed={one === tool} onPress={() => setQuery('tool', one === 'docker' ? undefined : one)}>
            {one}
          </Button>
        ))}
      </p>
      {references.map(({ label, reference }) => (
        <Code key={reference} text={pullLine(tool, slug, repo, reference)} label={`The line that pulls ${label}`} />
      ))}
    </section>
  );
}

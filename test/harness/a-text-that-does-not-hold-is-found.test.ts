import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMismatch, readTour } from './tour-text.ts';

const text = `
\`\`\`sh
npm start -- --try
KEY=$(./quarterdeck tokens create --name a --only key)
QUARTERDECK_TOKEN=$KEY ./quarterdeck registry list    # fails: it may not
skopeo login -u "$(node -p 1)" \\
    registry.example
./quarterdeck registry tags list acme    # what skopeo pushed
cat > file <<EOF
docker is only a word here
EOF
\`\`\`
\`\`\`text
made … of it
\`\`\`
\`\`\`yaml
a: b
\`\`\`
`;

test('a text that does not hold is found', async (t) => {
  await t.test('steps are read with what they need and show', () => {
    const { steps } = readTour(text);
    assert.deepEqual(
      steps.map(({ line, programs, fails, isLook }) => [line, programs, fails, isLook]),
      [
        [4, [], false, false],
        [5, [], true, false],
        [6, ['skopeo'], false, false],
        [8, ['skopeo'], false, true],
        [9, [], false, false],
      ],
    );
    assert.match(steps[2]!.command, /\\\n {4}registry\.example$/);
    assert.match(steps[4]!.command, /\nEOF$/);
    assert.deepEqual(steps[4]!.shows, ['made … of it']);
    assert.throws(() => readTour('```sh\nrm -rf data\n```'), /line 2: rm is not a program that tours use/);
  });

  await t.test('exit codes and lines are compared', () => {
    const shows = ['made … of it', 'all'];
    assert.equal(findMismatch({ shows, fails: false }, 0, 'x\nmade   a thing of it today\nall\n'), undefined);
    assert.match(findMismatch({ shows, fails: false }, 0, 'made a thing\nall\n')!, /"made … of it" is missing/);
    assert.match(findMismatch({ shows, fails: false }, 0, 'made y of it\nall of it\n')!, /"all" is missing/);
    assert.match(findMismatch({ shows: [], fails: false }, 3, '')!, /exit code 3/);
    assert.match(findMismatch({ shows: [], fails: true }, 0, '')!, /exit code 0/);
    assert.equal(findMismatch({ shows: [], fails: true }, 3, ''), undefined);
  });
});

// The commands in a text for users. A fenced block `sh` is run step by step; a block `text` right behind it is what its last step prints,
// with `…` for any characters. A comment `# fails: …` behind a command says that it must not succeed; a comment that names a program of
// others says that the step shows what that program did.

export interface Step {
  command: string;
  /** Of its first line in the file. */
  line: number;
  /** Lines that the output has, among others. */
  shows: string[];
  /** The programs that npm does not bring. */
  programs: string[];
  fails: boolean;
  /** It changes nothing, so it can be repeated until the text holds. */
  isLook: boolean;
}

export interface Tour {
  steps: Step[];
}

/** Of Debian packages and others; `npm run test:clients` uses those that are installed. */
const foreign = ['skopeo', 'swaks', 'kubectl', 'docker', 'curl'];
/** Of the shell, and of every system. */
const ordinary = ['./quarterdeck', 'export', 'cat', 'test', 'node', 'npm'];

export function readTour(markdown: string): Tour {
  const steps: Step[] = [];
  for (const { info, line, lines } of fencesIn(markdown)) {
    if (info === 'sh') steps.push(...stepsIn(lines, line));
    else if (info === 'text' && steps.length) steps.at(-1)!.shows.push(...lines.filter((shown) => shown.trim()));
  }
  return { steps: steps.filter(({ command }) => !isStart(command)) };
}

/** The server is there already, started as this line says. */
const isStart = (command: string) => command === 'npm start -- --try';

interface Fence {
  info: string;
  /** Of its first line. */
  line: number;
  lines: string[];
}

function fencesIn(markdown: string): Fence[] {
  const fences: Fence[] = [];
  let open: Fence | undefined;
  for (const [at, text] of markdown.split('\n').entries()) {
    if (text.startsWith('```')) {
      if (open) fences.push(open);
      open = open ? undefined : { info: text.slice(3).trim(), line: at + 2, lines: [] };
    } else open?.lines.push(text);
  }
  return fences;
}

/** Lines that go on behind a backslash, and documents for standard input, are one step. */
function stepsIn(lines: string[], first: number): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = first + at;
    let command = lines[at]!;
    if (!command.trim() || command.startsWith('#')) continue;
    while (command.endsWith('\\') && at + 1 < lines.length) command += `\n${lines[++at]}`;
    const programs = programsOf(command, line);
    const mark = /<<'?([A-Z]+)'?/.exec(command)?.[1];
    while (mark && lines[at] !== mark && at + 1 < lines.length) command += `\n${lines[++at]}`;
    steps.push({ command, line, shows: [], programs, fails: /# fails: /.test(command), isLook: isLook(command) });
  }
  return steps;
}

/** The first word of each command in the step, behind variables that are set for it; and programs that its comment names as before it. */
function programsOf(step: string, line: number): string[] {
  const [command = '', comment = ''] = step.split(/ # (.*)/s);
  const words = command
    .split(/\$\(|&&|\|/)
    .map((part) => /^\s*(?:\w+=(?:"[^"]*"|'[^']*'|[^\s'"(]*)(?:\s+|$))*([\w./-]*)/.exec(part)?.[1] ?? '')
    .filter((word) => word !== '');
  const unknown = words.filter((word) => !foreign.includes(word) && !ordinary.includes(word));
  if (unknown.length) throw new Error(`line ${line}: ${unknown[0]} is not a program that tours use`);
  return foreign.filter((name) => words.includes(name) || comment.split(/\W+/).includes(name));
}

const looks = [
  /^\.\/quarterdeck [a-z -]*\b(?:get|list|status|doctor)\b[^>]*$/,
  /^kubectl .* get /,
  /^skopeo (?:inspect|list-tags) /,
  /^curl (?:-s )?"?(?:http|\$)\S*$/,
];
const isLook = (command: string) => looks.some((look) => look.test(command));

const oneSpaced = (text: string) => text.replaceAll(/[ \t]+/g, ' ').trim();

/** How a step that ended so differs from its text, in words. */
export function findMismatch({ shows, fails }: Pick<Step, 'shows' | 'fails'>, code: number, output: string): string | undefined {
  if (fails ? code === 0 : code !== 0) return `exit code ${code}`;
  const lines = output.split('\n').map(oneSpaced);
  const missing = shows.find((shown) => !lines.some((line) => isShown(oneSpaced(shown).split('…'), line)));
  return missing === undefined ? undefined : `the line "${missing}" is missing`;
}

/** The parts of a shown line, in order; `…` stands between them. */
function isShown([first = '', ...others]: string[], line: string): boolean {
  if (!line.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const found = line.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return others.length > 0 || line.length === first.length;
}

/** A JSON value as YAML 1.2 that readers of 1.1 take for the same: what either could read as something else is quoted. */
export function yaml(value: unknown): string {
  return `${node(value, '')}\n`.replace(/^\n/, '');
}

function node(value: unknown, indent: string): string {
  if (Array.isArray(value)) return value.length ? value.map((item) => `\n${indent}-${nested(item, `${indent}  `, true)}`).join('') : ' []';
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).filter(([, v]) => v !== undefined);
    return entries.length ? entries.map(([key, v]) => `\n${indent}${scalarText(key)}:${nested(v, `${indent}  `, false)}`).join('') : ' {}';
  }
  return ` ${scalar(value, indent)}`;
}

/** The first key of an object stands beside the dash of its list. */
function nested(value: unknown, indent: string, inList: boolean): string {
  const text = node(value, indent);
  return inList && text.startsWith(`\n${indent}`) && !Array.isArray(value) ? ` ${text.slice(1 + indent.length)}` : text;
}

function scalar(value: unknown, indent: string): string {
  if (typeof value === 'string') return block(value, indent || '  ') ?? scalarText(value);
  return value === undefined ? 'null' : String(JSON.stringify(value));
}

// Plain only where no reader sees a number, a date, a word of its own or syntax.
const plainText = /^[A-Za-z_/][A-Za-z0-9_./@+-]*( [A-Za-z0-9_./@+(-][A-Za-z0-9_./@+()-]*)*$/;
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;

const scalarText = (text: string) => (plainText.test(text) && !reserved.test(text) ? text : quoted(text));

/** JSON's strings are YAML's, but for characters that YAML does not take as they are, or that steer a terminal. */
const quoted = (text: string) =>
  JSON.stringify(text).replaceAll(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\p{Cf}]/gu, (c) => {
    const code = c.codePointAt(0)!;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });

/** Texts of several lines, such as a kubeconfig, as they are. */
function block(text: string, indent: string): string | undefined {
  const isSafe = /^[\x21-\x7e][\x20-\x7e\n]*[\x21-\x7e]\n?$/.test(text) && text.trimEnd().includes('\n') && !/[ ]$/m.test(text);
  if (!isSafe) return undefined;
  const lines = text.replace(/\n$/, '').split('\n');
  return `|${text.endsWith('\n') ? '' : '-'}\n${lines.map((line) => (line ? indent + line : '')).join('\n')}`;
}

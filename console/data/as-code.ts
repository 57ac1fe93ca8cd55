import type { Command, Field } from '../../sdk/browser.ts';
import { areaOf, type CommandTable, operationOf } from './operations.ts';
import { masked } from './secret-fields.ts';

// The same as what the screen does, for a terminal and for programs. It is made from the table that makes the command line, so it cannot
// drift from it. A secret is never part of it: a placeholder stands in its place.

export interface Line {
  operation: string;
  params?: readonly string[];
  input?: Record<string, unknown>;
}

export interface Written {
  cli: string;
  curl: string;
  sdk: string;
}

export function asCode(
  table: CommandTable,
  { operation: id, params = [], input = {} }: Line,
  origin: string,
  slug: string,
): Written | undefined {
  const command = table.byOperation.get(id);
  const operation = operationOf(id);
  const area = areaOf(id);
  if (!command || !operation || !area) return undefined;
  const given = masked(Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined && value !== ''))) as Record<
    string,
    unknown
  >;
  return {
    cli: cliLine(command, params, given),
    curl: curlLine(operation, params, given, origin, slug),
    sdk: `await api.${area}.${id}(${[...params.map((param) => JSON.stringify(param)), ...(Object.keys(given).length ? [script(given)] : [])].join(', ')});`,
  };
}

function cliLine(command: Command, params: readonly string[], input: Record<string, unknown>): string {
  const words: string[] = [...params];
  const flags: string[] = [];
  // What no flag can say goes there; flags are laid over it.
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    const field = command.fields.find((f) => f.name === name);
    if (name === command.argument) words.push(String(value));
    else if (command.body === 'list') flags.push(`--body ${shell(JSON.stringify(value))}`);
    else if (!field || !hasFlag(field, value)) body[name] = value;
    else flags.push(flagOf(field, value));
  }
  if (Object.keys(body).length) flags.unshift(`--body ${shell(JSON.stringify(body))}`);
  const written = words.map(shell);
  const isLikeFlag = words.some((word) => word.startsWith('-'));
  return ['quarterdeck', ...command.words, ...(isLikeFlag ? [...flags, '--', ...written] : [...written, ...flags])].join(' ');
}

/** `null` behind a flag clears the field, so the word itself needs another way; a switch is on or off. */
const hasFlag = ({ type, list, nullable }: Field, value: unknown): boolean =>
  type === 'boolean' && !list ? typeof value === 'boolean' : !(nullable && value === 'null');

function flagOf({ flag }: Field, value: unknown): string {
  if (typeof value === 'boolean') return value ? `--${flag}` : `--no-${flag}`;
  const text = flat(value);
  return text.startsWith('-') ? `--${flag}=${shell(text)}` : `--${flag} ${shell(text)}`;
}

/** Lists of plain values are separated by commas; whatever is deeper is JSON, which every flag takes. */
function flat(value: unknown): string {
  if (Array.isArray(value) && value.every(isPlain) && String(value) !== 'null') return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const isPlain = (item: unknown): boolean => typeof item !== 'object' && /^[^,[{]+$/.test(String(item));

/** As one word of a shell. */
const shell = (text: string): string => (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function curlLine(
  { method, path, query = [], body }: { method: string; path: string; query?: string[]; body?: string },
  params: readonly string[],
  input: Record<string, unknown>,
  origin: string,
  slug: string,
): string {
  let at = 0;
  const filled = path.replace(/\{[^{}]+\}/g, () => encodeURIComponent(params[at++] ?? ''));
  const search = new URLSearchParams(query.flatMap((name) => (input[name] === undefined ? [] : [[name, String(input[name])]])));
  const fields = Object.fromEntries(Object.entries(input).filter(([name]) => !query.includes(name)));
  const content = body === 'list' ? fields['body'] : body === 'object' || Object.keys(fields).length ? fields : undefined;
  const url = `${origin}/api/v1${filled}${search.size ? `?${search}` : ''}`;
  const parts = [
    method === 'GET' ? 'curl' : `curl -X ${method}`,
    shell(url),
    `-H "Authorization: Bearer $QUARTERDECK_TOKEN"`,
    `-H ${shell(`X-Organization: ${slug}`)}`,
    ...(content === undefined ? [] : [`-H 'Content-Type: application/json' -d ${shell(JSON.stringify(content))}`]),
  ];
  return parts.join(' \\\n  ');
}

/** A literal of the language, with bare names where it takes them. */
function script(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => script(item, deeper))
    : Object.entries(value).map(
        ([name, inner]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: ${script(inner, deeper)}`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return parts.length ? `${open}\n${parts.map((part) => `${deeper}${part}`).join(',\n')}\n${indent}${close}` : `${open}${close}`;
}

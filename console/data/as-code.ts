import type { Command, CommandTable } from './commands.ts';
import { areaOf, operationOf } from './commands.ts';
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
  const flags = Object.entries(input).flatMap(([name, value]) => {
    const field = command.fields.find((f) => f.name === name);
    if (name === command.argument) return [shell(flat(value))];
    const flag = `--${field?.flag ?? name}`;
    if (value === true) return [flag];
    if (value === false) return [`${flag}=false`];
    return [`${flag} ${shell(flat(value))}`];
  });
  return ['quarterdeck', ...command.words, ...params.map(shell), ...flags].join(' ');
}

/** Lists of plain values are separated by commas; whatever is deeper is JSON, which every flag takes. */
function flat(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object' && !/[,[{]/.test(String(item)))) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const shell = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

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
  const content = Object.fromEntries(Object.entries(input).filter(([name]) => !query.includes(name)));
  const url = `${origin}/api/v1${filled}${search.size ? `?${search}` : ''}`;
  const parts = [
    method === 'GET' ? 'curl' : `curl -X ${method}`,
    shell(url),
    `-H "Authorization: Bearer $QUARTERDECK_TOKEN"`,
    `-H ${shell(`X-Organization: ${slug}`)}`,
    ...(body && Object.keys(content).length ? [`-H 'Content-Type: application/json' -d ${shell(JSON.stringify(content))}`] : []),
  ];
  return parts.join(' \\\n  ');
}

const script = (value: unknown): string => JSON.stringify(value, null, 2).replaceAll(/"([A-Za-z_$][\w$]*)":/g, '$1:');

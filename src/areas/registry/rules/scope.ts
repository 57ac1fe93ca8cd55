import { type Access, type Action, may } from './access.ts';

export interface Scope {
  type: 'repository' | 'registry';
  /** `<slug>/<repository>`, or `catalog` of type registry. */
  name: string;
  actions: Action[];
}

/** The key of the catalog scope in a token. */
export const catalogScope = 'registry:catalog';

const everything: readonly Action[] = ['pull', 'push', 'delete'];
const isAction = (text: string): text is Action => (everything as readonly string[]).includes(text);

/**
 * `type[(class)]:name:action[,action]*`, separated by spaces. A name may contain a colon (`host:port/…`), so the type ends at the first
 * colon and the actions follow the last. Unknown types and actions are ignored.
 */
export function parseScopes(texts: readonly string[]): Scope[] {
  const found = new Map<string, Scope>();
  for (const text of texts.flatMap((t) => t.split(' ')).slice(0, 100)) {
    const first = text.indexOf(':');
    const last = text.lastIndexOf(':');
    if (last <= first) continue;
    const type = text.slice(0, first).replace(/\([^()]*\)$/, '');
    const name = text.slice(first + 1, last);
    const asked = text.slice(last + 1).split(',');
    const actions = asked.includes('*') ? everything : asked.filter(isAction);
    const known = type === 'repository' ? name !== '' : type === 'registry' && name === 'catalog';
    if (!known || !actions.length) continue;
    const before = found.get(`${type}:${name}`)?.actions ?? [];
    const both = everything.filter((a) => before.includes(a) || actions.includes(a));
    found.set(`${type}:${name}`, { type: type as Scope['type'], name, actions: both });
  }
  return [...found.values()];
}

/**
 * The subset of the requested scopes that the credential has. Asking for more is not an error; a push without the scope is refused later.
 */
export function granted(access: Pick<Access, 'registries'>, scopes: readonly Scope[]): Map<string, Set<Action>> {
  const whole = { ...access, scopes: undefined } as Access;
  const grants = new Map<string, Set<Action>>();
  for (const { type, name, actions } of scopes) {
    if (type === 'registry') {
      grants.set(catalogScope, new Set(['pull']));
      continue;
    }
    const slash = name.indexOf('/');
    if (slash < 1) continue;
    const held = actions.filter((a) => may(whole, name.slice(0, slash), name.slice(slash + 1), a));
    if (held.length) grants.set(name, new Set(held));
  }
  return grants;
}

export const scopeText = (grants: ReadonlyMap<string, ReadonlySet<Action>>): string =>
  [...grants]
    .map(([name, actions]) => (name === catalogScope ? `${catalogScope}:*` : `repository:${name}:${[...actions].join(',')}`))
    .join(' ');

/** The registry that a token request is about, by its scopes. */
export const slugOf = (scopes: readonly Scope[]): string | undefined => scopes.find((s) => s.type === 'repository')?.name.split('/')[0];

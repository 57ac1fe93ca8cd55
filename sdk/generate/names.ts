import type { Op } from './document.ts';

/**
 * What an operation is called on the command line: its area, the nouns of its path, and a verb.
 *   DELETE /iam/roles/{id}                  deleteRole          iam roles delete <id>
 *   GET    /registry/registries/{slug}/tags listRegistryTags    registry tags list <slug>
 *   POST   /oncall/incidents/{id}/ack       acknowledgeIncident oncall incidents ack <id>
 * Only the operation itself decides, so no operation that comes later renames another's command.
 */
export function wordsOf({ id, area, method, path }: Pick<Op, 'id' | 'area' | 'method' | 'path'>): string[] {
  if (exceptions[id]) return exceptions[id].split(' ');
  const segments = path.split('/').filter((s) => s && !s.startsWith('{'));
  const nouns = segments.map((s) => s.replace(/\.\w+$/, '')).filter((s) => singular(s) !== singular(area));
  if (nouns[0]) nouns[0] = nouns[0].replace(new RegExp(`^(${area}|${singular(area)})-`), '');

  // A POST to something that is no collection is an action, and the path already has the verb for it.
  const last = segments.at(-1)!;
  const isAction = method === 'POST' && path.endsWith(`/${last}`) && !last.endsWith('s');
  const verb = isAction ? nouns.pop()! : /^[a-z]+/.exec(id)![0];
  return [area, ...nouns.filter((noun, i) => i < nouns.length - 1 || noun !== verb), verb];
}

const exceptions: Record<string, string> = {
  examineOncall: 'oncall doctor', // as `quarterdeck admin doctor` is called
  sendEmailBatch: 'email send-batch', // `email send` is a command already
  receivePrometheusAlerts: 'oncall alert-sources prometheus-alerts receive', // its path is Prometheus's own
  getSecurity: 'organization security get', // how its members sign in, though it is an organization's setting
  updateSecurity: 'organization security update',
  listSessions: 'account sessions list', // `me` says nothing beside `account`
  endSession: 'account sessions end',
  createDeviceCode: 'account device ask', // `tokens` and `codes` are not things of the account
  claimDeviceToken: 'account device claim',
  getOverview: 'overview', // over all areas, and of none
  streamEvents: 'events', // over all areas too; its verb is no word for what it does on a terminal
  testPaging: 'oncall me test send', // `test` alone would be the group of `get`
  searchThings: 'search',
  getIncidentStory: 'oncall incidents story',
  createMaintenance: 'uptime maintenance create', // a collection, though its noun has no plural
};

/** Fields that are typed as an argument: `quarterdeck search <q>`. By operation. */
export const argumentFields: Record<string, string> = { searchThings: 'q' };

const singular = (word: string) => word.replace(/ies$/, 'y').replace(/s$/, '');

/** Two operations with one name, or a command that is also the group of others, cannot be told apart when typed. */
export function refuseAmbiguity(named: { id: string; words: string[] }[]) {
  const byName = new Map<string, string>();
  for (const { id, words } of named) {
    const name = words.join(' ');
    if (byName.has(name))
      throw new Error(`${id} and ${byName.get(name)} are both called "${name}"; give one of them a name in sdk/generate/names.ts`);
    byName.set(name, id);
  }
  for (const { id, words } of named) {
    for (let n = 1; n < words.length; n++) {
      const group = byName.get(words.slice(0, n).join(' '));
      if (group)
        throw new Error(
          `"${words.join(' ')}" (${id}) lies below the command of ${group}; give one of them a name in sdk/generate/names.ts`,
        );
    }
  }
}

/** `expiresIn` → `expires-in`; `grant_type` → `grant-type`. */
export const kebab = (name: string) => name.replaceAll('_', '-').replace(/[A-Z]/g, (c, at) => `${at ? '-' : ''}${c.toLowerCase()}`);

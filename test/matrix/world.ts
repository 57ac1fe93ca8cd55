import { builtinRoles, type OrganizationRole, organizationRoles } from '../../contract/permissions.ts';
import { run } from '../../src/kernel/db/index.ts';
import type { Quarterdeck, Someone } from '../harness/index.ts';
import { signedIn } from '../harness/visitor.ts';
import type { Fakes, Outside } from './outside.ts';
import { made201, type Thing, unique } from './recipe.ts';

const serviceRoles = builtinRoles.filter((r) => r.service).map((r) => r.id);

/**
 * Who asks. The service roles are each granted to somebody who is otherwise a plain member. `narrowed` is a token of an owner,
 * bound to the very thing that is asked for; `elsewhere` one that is bound to another thing. `outsider` owns
 * another organization, and `bare` one that is entitled to nothing.
 */
export const subjects = [...organizationRoles, ...serviceRoles, 'narrowed', 'elsewhere', 'none', 'outsider', 'bare'] as const;
export type Subject = (typeof subjects)[number];

/** Somebody who asks, and the person behind them as recipes know them. */
export interface Asker {
  /** Whose things are theirs; the owner where nobody asks, or an outsider does. */
  person: Someone;
  /** The token to ask with; undefined for none. */
  keyFor(thing: Thing | undefined): Promise<string | undefined>;
}

export type SessionAge = 'fresh' | 'stale';

/** Subjects that can also sign in as themselves: a narrowed token has no session that equals it. */
export const isPerson = (subject: Subject): boolean => isOrganizationRole(subject) || (serviceRoles as readonly string[]).includes(subject);

export interface World {
  qd: Quarterdeck;
  fakes: Fakes;
  home: Someone;
  foreigner: Someone;
  asker(subject: Subject, options?: { fresh?: boolean }): Promise<Asker>;
  /** The headers of a request by a session of that person, which proved itself a moment ago (fresh) or long ago (stale). */
  sessionOf(person: Someone, age: SessionAge): Promise<Record<string, string>>;
  /** The organization that a subject may know things of. */
  orgOf(subject: Subject): string;
  /** Words that only one organization may read. */
  secretsOf: Map<string, Set<string>>;
}

export async function makeWorld({ qd, fakes }: Outside): Promise<World> {
  const [home, foreigner, outsider, bare] = await Promise.all([
    qd.organization('home'),
    qd.organization('foreigners'),
    qd.organization('outsiders'),
    qd.organization('bare-ones'),
  ]);
  await qd.app.db.write((tx) => run(tx)`update identity.org set entitlements = '{}' where id = ${bare.orgId}`);
  const decoy: string = (await made201(home.post('/oncall/services', { name: unique('decoy') }))).id;
  const secretsOf = new Map(
    [home, foreigner, outsider, bare].map((s) => [s.orgId, new Set([s.orgId, s.orgSlug, s.userId, s.tokenId, s.email])]),
  );

  const bound = new Map<string, Promise<Someone>>();
  const boundTo = async (person: Someone, id: string) => {
    const everything = serviceRoles.filter((r) => r.endsWith('.admin')).map((role) => ({ role, resourceIds: [id] }));
    const made = bound.get(`${person.userId} ${id}`) ?? qd.narrowed(person, everything);
    bound.set(`${person.userId} ${id}`, made);
    return (await made).key;
  };

  const make = async (subject: Subject, fresh: boolean): Promise<Asker> => {
    const owner = async () => (fresh ? qd.member(home, 'owner', `${unique('owner').replace(' ', '-')}@example.com`) : home);
    switch (subject) {
      case 'owner':
        return plain(await owner());
      case 'none':
        return { person: home, keyFor: async () => undefined };
      case 'outsider':
      case 'bare':
        return { person: home, keyFor: async () => (subject === 'bare' ? bare : outsider).key };
      case 'narrowed': {
        const person = await owner();
        return { person, keyFor: (thing) => boundTo(person, thing?.narrowTo ?? decoy) };
      }
      case 'elsewhere': {
        const person = await owner();
        const token = await boundTo(person, decoy);
        return { person, keyFor: async () => token };
      }
      default: {
        const email = `${unique(subject).replace(' ', '-')}@example.com`;
        if (isOrganizationRole(subject)) return plain(await qd.member(home, subject, email));
        const person = await qd.member(home, 'member', email);
        await made201(home.post('/iam/grants', { subject: person.userId, role: subject }));
        return plain(person);
      }
    }
  };

  const sessions = new Map<string, Promise<Record<string, string>>>();
  const signIn = async (person: Someone, age: SessionAge) => {
    const headers = {
      cookie: (await signedIn(qd, person.userId)).cookie(),
      'sec-fetch-site': 'same-origin',
      'x-forwarded-proto': 'https', // a proxy brings it from afar: over plain HTTP a cookie would not count
      'x-organization': person.orgSlug,
    };
    if (age === 'stale')
      await qd.app.db.write(
        (tx) =>
          run(tx)`update identity.session set authenticated_at = authenticated_at - interval '1 hour' where user_id = ${person.userId}`,
      );
    return headers;
  };

  const lasting = new Map<Subject, Promise<Asker>>();
  return {
    qd,
    fakes,
    home,
    foreigner,
    secretsOf,
    sessionOf: async (person, age) => {
      // The stale one first: aging it ages what is there.
      const ofAge = (wanted: SessionAge) => {
        const known = sessions.get(`${wanted} ${person.userId}`) ?? signIn(person, wanted);
        sessions.set(`${wanted} ${person.userId}`, known);
        return known;
      };
      const stale = await ofAge('stale');
      return age === 'stale' ? stale : ofAge('fresh');
    },
    orgOf: (subject) => (({ outsider, bare })[subject as string] ?? home).orgId,
    asker: (subject, { fresh = false } = {}) => {
      if (fresh) return make(subject, true);
      const known = lasting.get(subject) ?? make(subject, false);
      lasting.set(subject, known);
      return known;
    },
  };
}

export const isOrganizationRole = (role: string): role is OrganizationRole => (organizationRoles as readonly string[]).includes(role);

const plain = (person: Someone): Asker => ({ person, keyFor: async () => person.key });

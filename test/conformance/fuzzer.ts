import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import type { Op } from '../../contract/common.ts';
import { builtinRoles, permissions } from '../../contract/permissions.ts';
import type { Someone } from '../harness/index.ts';
import { type Outside, quarterdeckOutside } from '../matrix/outside.ts';
import { type Kitchen, make, type Thing } from '../matrix/recipe.ts';
import { byToken, type Served, servedAreas } from '../matrix/recipes/index.ts';
import { fill, valuesOf } from './arbitrary.ts';
import { judge } from './judge.ts';
import { applied, type Draft, type Mutation, mutations } from './mutations.ts';
import { differences, readingsOf } from './read-back.ts';
import { type WireAnswer, wire } from './wire.ts';

export interface Fuzzing {
  /** Requests to each operation. */
  runs: number;
  /** The same one asks the same. */
  seed: number;
}

const atOnce = 4;

interface Choice {
  /** Who asks: mostly the owner, who gets furthest. */
  as: number;
  /** The recipe's own body instead of a made-up one: so every operation is also called in a way that works. */
  plain: boolean;
  query: unknown;
  body: unknown;
  mutations: Mutation[];
}

const choices = (spec: Op): fc.Arbitrary<Choice> =>
  fc.record({
    as: fc.nat({ max: 9 }),
    plain: fc.nat({ max: 3 }).map((n) => n === 0),
    query: spec.query ? valuesOf(spec.query as never) : fc.constant({}),
    body: spec.body ? valuesOf(spec.body as never) : fc.constant(undefined),
    mutations: fc.oneof(
      { weight: 1, arbitrary: fc.constant<Mutation[]>([]) },
      { weight: 2, arbitrary: fc.array(mutations, { minLength: 1, maxLength: 3 }) },
    ),
  });

/** With more than these each operation has an organization of its own, since one has room for so many things. */
const fewRuns = 20;
/** Of what an organization has a bounded number, long campaigns ask as often as it lets them. */
const hasTheMost = /which is the most|as many as it may/;

/** Every served operation, with input that its contract allows and with input that it does not. */
export async function fuzzOperations(t: TestContext, fuzzing: Fuzzing): Promise<void> {
  const areas = servedAreas().map((area) => ({ name: area.name, operations: byToken(area) }));
  const fuzzer = await makeFuzzer(
    await quarterdeckOutside(t),
    fuzzing,
    areas.flatMap((area) => area.operations.map(({ spec }) => spec)),
  );
  t.after(() => fuzzer.close());
  for (const area of areas) {
    await t.test(area.name, async () => {
      const queue = [...area.operations];
      const failures: string[] = [];
      const work = async () => {
        for (let served = queue.shift(); served; served = queue.shift())
          await fuzzer.fuzz(served).catch((error: Error) => failures.push(error.message));
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      assert.equal(failures.length, 0, failures.join('\n\n'));
    });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // an answer without a body, or of another kind
  }
}

async function makeFuzzer({ qd, fakes }: Outside, { runs, seed }: Fuzzing, operations: readonly Op[]) {
  const foreigner = await qd.organization('foreigners');
  // Never named in a request, so that no request can end what the fuzzer stands on.
  const spared = new Set<string>();
  const makeTenant = async (name: string) => {
    const at = await qd.organization(name);
    const [member, narrowed] = await Promise.all([
      qd.member(at, 'member', `member@${name}.example`),
      qd.narrowed(at, [{ role: 'uptime.editor' }]),
    ]);
    const callers: (Someone | undefined)[] = [...Array<Someone>(7).fill(at), member, narrowed, undefined];
    for (const c of callers) if (c) spared.add(c.userId).add(c.tokenId);
    await Promise.all([at, member, narrowed].map(({ get }) => get('/tokens')));
    const kitchen: Kitchen = { qd, fakes, at, caller: at, foreigner };
    return { callers, kitchen };
  };
  const everybody = await makeTenant('fuzzed');
  // Before any guess: from a place that has guessed too often no key is taken that was not seen before.
  const own: (typeof everybody)[] = [];
  if (runs > fewRuns) for (let n = 0; n < operations.length; n++) own.push(await makeTenant(`fuzzed-${n}`));
  const words = [...builtinRoles.map((r) => r.id), ...permissions, foreigner.userId, foreigner.tokenId];
  const learn = (text: string) => {
    for (const [id] of text.matchAll(/\b[a-z]{2,8}_[0-9A-Z]{26}\b/g)) if (!spared.has(id) && words.length < 5_000) words.push(id);
  };
  const { send, close } = wire(qd.url);

  const fuzz = async ({ spec, recipe }: Served) => {
    const { callers, kitchen } = own.pop() ?? everybody;
    let thing: Thing | undefined;
    const met = new Set<number>();
    let isFull = false;
    const prepare = async (choice: Choice) => {
      thing ??= await make(recipe, kitchen);
      return { key: recipe.key ? await recipe.key(kitchen, thing) : callers[choice.as]?.key };
    };
    const property = fc.asyncProperty(choices(spec), async (choice) => {
      if (isFull) return;
      const ready = await prepare(choice).catch((error: Error) => {
        if (met.size === 0 || !hasTheMost.test(error.message)) throw error;
        isFull = true;
      });
      if (!ready) return;
      const { key } = ready;
      const draft = await draftOf({ spec, recipe }, kitchen, thing, choice, key);
      const { answer, told } = await ask(spec, draft);
      met.add(answer.status);
      learn(answer.text);
      if (answer.status < 300 && spec.method !== 'GET') thing = undefined;
      try {
        judge(spec, answer);
      } catch (error) {
        throw new Error(`${(error as Error).message}\n  after ${told}`);
      }
      const lost = await compareStored(spec, draft, answer, kitchen.at.key);
      if (lost.length > 0) throw new Error(`${lost.join('\n')}\n  after ${told}`);
    });
    const found = await fc.check(property, {
      numRuns: runs,
      seed: seed + crc32(spec.id),
      interruptAfterTimeLimit: 120_000,
      examples: [[{ as: 0, plain: true, query: {}, body: undefined, mutations: [] }]],
    });
    if (found.failed) {
      throw new Error(
        `${spec.id}, QUARTERDECK_FUZZ_SEED=${seed} QUARTERDECK_FUZZ_RUNS=${runs}, run ${found.numRuns}: ${(found.errorInstance as Error)?.message ?? 'interrupted'}`,
      );
    }
    assert.ok(
      [...met].some((s) => s < 300),
      `${spec.id} was never answered well (${[...met]}): the fuzzer does not reach it`,
    );
  };

  /** Reads a thing that was written well, and compares the fields that both tell. */
  const compareStored = async (spec: Op, draft: Draft, answer: WireAnswer, key: string): Promise<string[]> => {
    if (spec.method === 'GET' || spec.method === 'DELETE' || answer.status >= 300 || draft.bytes || spec.foreign) return [];
    const written = parseJson(answer.text);
    for (const reading of readingsOf(spec, operations)) {
      const path = reading.path(draft.params, written);
      if (path === undefined) continue;
      const read = await send({ method: 'GET', path: `/api/v1${path}`, headers: { authorization: `Bearer ${key}` } });
      const lost = read.status === 200 ? differences(spec, draft.body, written, parseJson(read.text)) : [];
      if (lost.length > 0) return lost;
    }
    return [];
  };

  const draftOf = async (
    { spec, recipe }: Served,
    kitchen: Kitchen,
    thing: Thing | undefined,
    choice: Choice,
    key: string | undefined,
  ): Promise<Draft> => {
    const body = choice.plain ? await recipe.body?.(kitchen, thing) : fill(choice.body, words);
    const query = choice.plain ? (recipe.query?.(thing) ?? {}) : (fill(choice.query, words) as Record<string, unknown>);
    const draft: Draft = {
      params: Object.fromEntries(Object.entries(thing?.params ?? {}).map(([k, v]) => [k, encodeURIComponent(v)])),
      query: new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)])).toString(),
      headers: { ...(key ? { authorization: `Bearer ${key}` } : {}), ...(spec.body ? { 'content-type': 'application/json' } : {}) },
      body,
    };
    return applied(draft, choice.mutations);
  };

  const ask = async (spec: Op, d: Draft): Promise<{ answer: WireAnswer; told: string }> => {
    const path = `/api/v1${spec.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => d.params[name]!)}${d.query ? `?${d.query}` : ''}`;
    const body = d.bytes ?? (d.body === undefined ? undefined : Buffer.from(JSON.stringify(d.body)));
    const { authorization, ...shown } = d.headers;
    const told = `${spec.method} ${path.slice(0, 300)} ${JSON.stringify(shown)}${authorization ? '' : ' without a token'} ${body?.toString().slice(0, 500) ?? ''}`;
    return { answer: await send({ method: spec.method, path, headers: d.headers, body }), told };
  };

  return { fuzz, close };
}

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Refusal } from '../../../kernel/errors.ts';
import { makeKeyedLimit } from '../../../kernel/fairness/index.ts';
import { normalizedPassword } from '../rules/new-password.ts';
import { type Cost, currentCost, formatPhc, isOutdated, type PasswordHash, parsePhc } from '../rules/phc.ts';

// A hash takes 19 MiB and 40 ms of a core, which a flood of sign-ins would take from everything else. So few run at a time, few wait for
// their turn, and the rest is refused at once.
//
// Strangers and known people wait in lanes of their own, which take turns. So a flood from many addresses fills the strangers' lane alone.
// Known is a person who is signed in, who holds a link, or whose browser has signed in to the account before.

const maxWaiting = 32;
/** Of these, from one address of strangers, and of one person who is known: a flood from a single one leaves places for others. */
const most = { ofAddress: 8, ofPerson: 3 };
const retrySeconds = 5;

export interface HashingVisitor {
  address: string;
  /** The id of the person who is known; absent for a stranger. */
  personId?: string | undefined;
}

export interface HashQueue {
  /**
   * Runs work that hashes when its turn comes; refuses it (503) when too much is waiting in the visitor's lane. The work holds its place among
   * the few: it must not wait for what others can hold, such as row locks.
   */
  run<T>(visitor: HashingVisitor, work: () => Promise<T>): Promise<T>;
}

const makeLane = (each: number, maxRunning: number) => ({
  places: makeKeyedLimit({ each, all: maxRunning + maxWaiting }),
  waiting: [] as (() => void)[],
});

export function makeHashQueue(maxRunning: number): HashQueue {
  const strangers = makeLane(most.ofAddress, maxRunning);
  const known = makeLane(most.ofPerson, maxRunning);
  let running = 0;
  let lastServed = strangers;
  const turn = async (lane: typeof known): Promise<void> => {
    if (running < maxRunning) running++;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
  };
  const leave = (): void => {
    const [first, second] = lastServed === known ? [strangers, known] : [known, strangers];
    const lane = first.waiting.length ? first : second;
    const next = lane.waiting.shift();
    if (!next) return void running--;
    lastServed = lane;
    next();
  };
  return {
    run: async ({ address, personId }, work) => {
      const lane = personId === undefined ? strangers : known;
      const release = lane.places.acquire(personId ?? address);
      if (!release) {
        await turnToRefuse();
        throw tooBusy();
      }
      try {
        await turn(lane);
        try {
          return await work();
        } finally {
          leave();
        }
      } finally {
        release();
      }
    },
  };
}

const refused: (() => void)[] = [];

/** One in a turn of the event loop: the page of a refusal costs as much as many a request, and a burst of them would hold up all others. */
function turnToRefuse(): Promise<void> {
  return new Promise((resolve) => {
    if (refused.push(resolve) === 1) setImmediate(refuseNext);
  });
}

function refuseNext(): void {
  refused.shift()!();
  if (refused.length > 0) setImmediate(refuseNext);
}

const tooBusy = () =>
  new Refusal(503, 'unavailable', `too many people sign in by password at this moment; try again in ${retrySeconds} s, or use a passkey`, {
    headers: { 'retry-after': String(retrySeconds) },
  });

/** One for the process: the cores are the process's. Two cores or fewer must not all hash. */
export const hashQueue: HashQueue = makeHashQueue(availableParallelism() > 2 ? 2 : 1);

let hashes = 0;

/** How many hashes this process has made. */
export const hashesMade = (): number => hashes;

const tagLength = 32;
const saltLength = 16;

function hash(password: string, salt: Buffer, { memory, passes, parallelism }: Cost, length = tagLength): Promise<Buffer> {
  hashes++;
  const message = Buffer.from(normalizedPassword(password));
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message, nonce: salt, parallelism, tagLength: length, memory, passes }, (error, tag) =>
      error ? reject(error) : resolve(tag),
    );
  });
}

/** To be called in a turn of the queue. */
export async function makeHash(password: string): Promise<string> {
  const salt = randomBytes(saltLength);
  return formatPhc({ ...currentCost, salt, tag: await hash(password, salt, currentCost) });
}

/** A stored password that no password matches: an account without one costs the same work. */
const decoy: PasswordHash = { ...currentCost, salt: Buffer.alloc(saltLength), tag: randomBytes(tagLength) };

/** Compares, in a turn of the queue. `rehash`: the parameters have changed, so it should be stored anew. */
export async function verifyHash(password: string, phc: string | undefined): Promise<{ isRight: boolean; rehash: boolean }> {
  const stored = phc === undefined ? decoy : parsePhc(phc);
  const isRight = timingSafeEqual(await hash(password, stored.salt, stored, stored.tag.length), stored.tag);
  return { isRight: isRight && phc !== undefined, rehash: isOutdated(stored) };
}

import { type JsonLimits, readJson, readJsonInSteps } from '../../kernel/http/json.ts';
import { runYielding } from '../../kernel/yielding.ts';

/** Bodies beyond it wait for a turn of their organization before anybody reads them. */
const largeBytes = 262_144;

/** JSON that arrived and was not read yet. */
export class LargeBody {
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  read(): Promise<unknown> {
    return runYielding(readJsonInSteps(this.#bytes, this.#limits));
  }
}

/** What was sent, or, if it is large, what it can be read from. */
export const readUnlessLarge = (bytes: Buffer, limits: JsonLimits): unknown =>
  bytes.length > largeBytes ? new LargeBody(bytes, limits) : readJson(bytes, limits);

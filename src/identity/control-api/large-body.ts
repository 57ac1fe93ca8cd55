import { type JsonLimits, readJson, readJsonInSteps } from '../../kernel/http/json.ts';
import { runYielding } from '../../kernel/yielding.ts';

/** Larger bodies are parsed only when their organization's turn comes. */
const largeBytes = 262_144;

/** A JSON body that has arrived and is not parsed yet. */
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

/** The parsed body, or a `LargeBody` to be parsed later. */
export const readUnlessLarge = (bytes: Buffer, limits: JsonLimits): unknown =>
  bytes.length > largeBytes ? new LargeBody(bytes, limits) : readJson(bytes, limits);

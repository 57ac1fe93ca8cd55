import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

// An authenticator and the browser before it, which lie on demand: for answers that no real browser would send.

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest();

/** CBOR (RFC 8949) of what an authenticator says. */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, inner]) => [cbor(key), cbor(inner as never)])]);
}

function head(major: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(major << 5) | size]);
  return size < 256 ? Buffer.from([(major << 5) | 24, size]) : Buffer.from([(major << 5) | 25, size >> 8, size & 255]);
}

export interface Lies {
  origin?: string;
  rpId?: string;
  challenge?: string;
  isUserVerified?: boolean;
  userHandle?: string;
  /** Fields of the client data, besides the usual ones. */
  clientData?: Record<string, unknown>;
  /** An attestation instead of none. */
  attestation?: { format: string; statement: Map<string, unknown> };
  /** Signs with another key. */
  isForged?: boolean;
  counter?: number;
}

interface Credential {
  id: Buffer;
  rpId: string;
  userHandle: string;
  key: KeyObject;
  counter: number;
}

const userPresent = 0x01;
const userVerified = 0x04;
const attestedData = 0x40;

/** A security key with a finger on it; `origin` is where its browser is. */
export function fakeAuthenticator(origin: string) {
  const credentials: Credential[] = [];
  const clientDataOf = (type: string, challenge: string, lies: Lies) =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: false,
        ...lies.clientData,
      }),
    );
  const authenticatorData = (rpId: string, flags: number, counter: number, lies: Lies, more = Buffer.alloc(0)) => {
    const counted = Buffer.alloc(4);
    counted.writeUInt32BE(lies.counter ?? counter);
    const said = flags | userPresent | (lies.isUserVerified === false ? 0 : userVerified);
    return Buffer.concat([sha256(lies.rpId ?? rpId), Buffer.from([said]), counted, more]);
  };
  const answer = (id: Buffer, response: Record<string, unknown>) =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      response,
      clientExtensionResults: {},
    });

  return {
    credentials,
    /** Answers the options of /account/passkeys/options. */
    create(options: { challenge: string; rp: { id: string }; user: { id: string } }, lies: Lies = {}): string {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
      const coordinates = [x, y].map((text) => Buffer.from(text, 'base64url')) as [Buffer, Buffer];
      const cose = new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, coordinates[0]],
        [-3, coordinates[1]],
      ]);
      const id = randomBytes(32);
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cbor(cose)]);
      credentials.push({ id, rpId: options.rp.id, userHandle: options.user.id, key: privateKey, counter: 0 });
      const attestation = new Map<string, unknown>([
        ['fmt', lies.attestation?.format ?? 'none'],
        ['attStmt', lies.attestation?.statement ?? new Map()],
        ['authData', authenticatorData(options.rp.id, attestedData, 0, lies, attested)],
      ]);
      return answer(id, {
        clientDataJSON: clientDataOf('webauthn.create', options.challenge, lies).toString('base64url'),
        attestationObject: cbor(attestation).toString('base64url'),
        transports: ['usb'],
      });
    },
    /** Answers the options of /sign-in/passkey/options with its newest credential. */
    use({ challenge }: { challenge: string }, lies: Lies = {}): string {
      const credential = credentials.at(-1)!;
      const clientData = clientDataOf('webauthn.get', challenge, lies);
      const data = authenticatorData(credential.rpId, 0, ++credential.counter, lies);
      const key = lies.isForged ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : credential.key;
      return answer(credential.id, {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', Buffer.concat([data, sha256(clientData)]), key).toString('base64url'),
        userHandle: lies.userHandle ?? credential.userHandle,
      });
    },
  };
}

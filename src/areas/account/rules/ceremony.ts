import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { isPublicHost } from '../../../identity/rules/own-host.ts';

// The ceremonies of passkeys (Web Authentication, level 3): what a browser is asked, and the form of its answers.

/** A challenge is answered within this time, or not at all. */
export const challengeSeconds = 300;

/** ES256, EdDSA, RS256 (COSE numbers), in the order of preference. */
export const algorithms = [-7, -8, -257] as const;

/** The host that a passkey of this page is bound to. Undefined: an IP address, which a passkey cannot be bound to. */
export function rpIdOf(host: string): string | undefined {
  const { hostname } = new URL(`http://${host}`);
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) ? undefined : hostname;
}

/** The origin that the browser names. At the public address it is the public one, whatever a proxy tells about the scheme. */
export const originOf = (host: string, publicUrl: string, isSecure: boolean): string => {
  const url = isPublicHost(host, publicUrl) ? publicUrl : `${isSecure ? 'https' : 'http'}://${host}`;
  return new URL(url).origin;
};

export interface KnownCredential {
  credentialId: string;
  transports: readonly string[];
}

const descriptors = (known: readonly KnownCredential[]) =>
  known.map(({ credentialId, transports }) => ({ type: 'public-key', id: credentialId, transports }));

export interface NewPasskeyOptions {
  challenge: string;
  rpId: string;
  user: { id: string; email: string; name: string };
  /** The person's passkeys on this host: an authenticator makes no second one. */
  known: readonly KnownCredential[];
}

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export const creationOptions = ({ challenge, rpId, user, known }: NewPasskeyOptions) => ({
  challenge,
  rp: { id: rpId, name: 'Quarterdeck' },
  user: { id: userHandleOf(user.id), name: user.email, displayName: user.name || user.email },
  pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
  timeout: challengeSeconds * 1000,
  excludeCredentials: descriptors(known),
  authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  attestation: 'none',
});

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. Without known credentials, the person chooses among all of this host. */
export const requestOptions = (challenge: string, rpId: string, known: readonly KnownCredential[] = []) => ({
  challenge,
  rpId,
  timeout: challengeSeconds * 1000,
  userVerification: 'required',
  allowCredentials: descriptors(known),
});

/** What an authenticator keeps about the person: their id, which tells nothing else. */
export const userHandleOf = (userId: string): string => Buffer.from(userId).toString('base64url');

export const challengeHash = (challenge: string): Buffer => createHash('sha256').update(challenge).digest();

const encoded = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength });
const transports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;

/** A credential id has at most 1,023 bytes. The whole form has 16 KiB. */
const Credential = { id: encoded(1_364), rawId: encoded(1_364), type: Type.Literal('public-key') };

const Registration = Type.Object({
  ...Credential,
  response: Type.Object({
    clientDataJSON: encoded(4_000),
    attestationObject: encoded(8_000),
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 10 })),
  }),
});
export type Registration = Static<typeof Registration>;

const Assertion = Type.Object({
  ...Credential,
  response: Type.Object({
    clientDataJSON: encoded(4_000),
    authenticatorData: encoded(4_000),
    signature: encoded(2_000),
    userHandle: Type.Optional(Type.Union([encoded(100), Type.Null()])),
  }),
});
export type Assertion = Static<typeof Assertion>;

const registrations = Compile(Registration);
const assertions = Compile(Assertion);

export const parseRegistration = (text: string): Registration | undefined => {
  const value = jsonOf(text);
  return registrations.Check(value) && isOwnClientData(value.response.clientDataJSON) ? value : undefined;
};

export const parseAssertion = (text: string): Assertion | undefined => {
  const value = jsonOf(text);
  return assertions.Check(value) && isOwnClientData(value.response.clientDataJSON) ? value : undefined;
};

/** Transports that a later ceremony may name; others are of no use to it. */
export const knownTransports = ({ response }: Registration): string[] =>
  transports.filter((transport) => response.transports?.includes(transport));

/** Our pages stand in no frame, so a ceremony in a frame of another site is none of ours. */
function isOwnClientData(clientData: string): boolean {
  const data = jsonOf(Buffer.from(clientData, 'base64url').toString()) as Record<string, unknown> | null | undefined;
  return typeof data === 'object' && data !== null && data['crossOrigin'] !== true && data['topOrigin'] === undefined;
}

const userVerifiedFlag = 0x04;

/** Whether the authenticator asked for a PIN, a finger or a face: authenticator data has its flags in byte 32. */
export const isUserVerified = (authenticatorData: string): boolean =>
  ((Buffer.from(authenticatorData, 'base64url')[32] ?? 0) & userVerifiedFlag) !== 0;

/** A counter that does not grow may mean a copied key. Synced passkeys always say 0. */
export const hasGoneBack = (stored: number, sent: number): boolean => (stored > 0 || sent > 0) && sent <= stored;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

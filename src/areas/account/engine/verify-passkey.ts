import { Refusal } from '../../../kernel/errors.ts';
import { type Assertion, algorithms, isUserVerified, type Registration, userHandleOf } from '../rules/ceremony.ts';
import type { PasskeyRow } from '../store/passkeys.ts';

/** Where a ceremony takes place, and which challenge it answers. */
export interface CeremonyPlace {
  challenge: string;
  origin: string;
  rpId: string;
}

/** Loaded by the first ceremony: 29 MiB that a server without passkeys saves. */
const loadLibrary = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

const expected = ({ challenge, origin, rpId }: CeremonyPlace) => ({
  expectedChallenge: challenge,
  expectedOrigin: origin,
  expectedRPID: rpId,
  requireUserVerification: true,
});

export interface VerifiedPasskey {
  credentialId: Buffer;
  publicKey: Buffer;
  counter: number;
  isBackedUp: boolean;
}

/** A new passkey that its authenticator has signed for this place; a refusal otherwise. */
export async function verifyRegistration(response: Registration, place: CeremonyPlace): Promise<VerifiedPasskey> {
  const { decodeAttestationObject, parseAuthenticatorData } = await loadHelpers();
  const { verifyRegistrationResponse } = await loadLibrary();
  // The library decodes CBOR of any shape: what it takes for a map may be a number.
  const { hasCertificates, isVerified } = orWrong(() => {
    const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(response.response.attestationObject, 'base64url')));
    return {
      hasCertificates: mayHaveCertificates(attestation.get('fmt'), attestation.get('attStmt')),
      isVerified: parseAuthenticatorData(attestation.get('authData')).flags.uv,
    };
  });
  if (hasCertificates) throw new Refusal(400, 'invalid', 'the authenticator sent a certificate, and none was asked for; use another one');
  if (!isVerified) refuseUnverified();
  const { registrationInfo } = await verifyRegistrationResponse({
    response: { ...response, clientExtensionResults: {} } as never,
    ...expected(place),
    supportedAlgorithmIDs: [...algorithms],
  }).catch(refuseWrong);
  if (!registrationInfo) return refuseWrong();
  const { credential, credentialBackedUp } = registrationInfo;
  return {
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    counter: credential.counter,
    isBackedUp: credentialBackedUp,
  };
}

/**
 * We ask for no attestation. Browsers then send none, or a signature by the new key itself. Certificates would make the library fetch the
 * revocation list that they name, past the guard of outgoing connections.
 */
const mayHaveCertificates = (format: string, statement: { get(name: 'x5c'): unknown }): boolean =>
  format !== 'none' && (format !== 'packed' || statement.get('x5c') !== undefined);

/** The use of a passkey; a refusal unless its own key signed this challenge for this place, and its person was verified. */
export async function verifyAssertion(response: Assertion, passkey: PasskeyRow, place: CeremonyPlace) {
  const { userHandle } = response.response;
  if (passkey.rp_id !== place.rpId || (userHandle && userHandle !== userHandleOf(passkey.user_id))) return refuseWrong();
  if (!isUserVerified(response.response.authenticatorData)) return refuseUnverified();
  const { verifyAuthenticationResponse } = await loadLibrary();
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...response, clientExtensionResults: {} } as never,
    ...expected(place),
    // Zero: the library would refuse a counter that went back. Such a use is logged instead (engine/passkeys.ts).
    credential: { id: response.id, publicKey: new Uint8Array(passkey.public_key), counter: 0 },
  }).catch(refuseWrong);
  if (!verified) return refuseWrong();
  return { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp };
}

function orWrong<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    return refuseWrong(error);
  }
}

function refuseWrong(cause?: unknown): never {
  throw new Refusal(401, 'passkey_wrong', 'this passkey was not accepted: it was made for another address, or its answer was changed', {
    cause,
  });
}

function refuseUnverified(): never {
  throw new Refusal(
    401,
    'passkey_unverified',
    'the authenticator did not ask for a PIN, a finger or a face: set a PIN on it, or use another passkey',
  );
}

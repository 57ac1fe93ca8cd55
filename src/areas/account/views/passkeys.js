// Passkeys on the pages /sign-in, /sign-in/again and /account/passkeys. The pages work without this script, which shows what needs it.
// It runs with Trusted Types and without a library: it makes no markup out of text.

const part = document.getElementById('passkey');
const button = document.getElementById('passkey-button');
const said = document.getElementById('passkey-said');
const page = location.pathname;

const refreshMs = 240_000; // a challenge lasts five minutes

/** Asks the server. Sends the browser elsewhere where the server says so. */
async function ask(path, fields) {
  const answer = await fetch(path, { method: 'POST', body: new URLSearchParams(fields) });
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  if (body.next) {
    location.assign(body.next);
    return new Promise(() => {}); // the page ends here
  }
  throw Object.assign(new Error(body.error ?? 'The server did not answer. Try again.'), { code: body.code, isTold: true });
}

function say(text) {
  said.textContent = text;
  said.hidden = text === '';
}

/** Why there is no passkey, and the address to open instead. */
function sayReason(reason, open) {
  say(reason);
  if (!open) return;
  const link = document.createElement('a');
  link.href = link.textContent = open;
  said.append(' Open ', link, ' instead.');
}

/** What a browser's own refusal means here. */
const meanings = {
  NotAllowedError: 'No passkey was used. Try again, or go on in another way.',
  InvalidStateError: 'This device has a passkey for your account already.',
  SecurityError: 'The browser does not allow passkeys at this address.',
  NotSupportedError: 'This device cannot make a passkey of a kind that is accepted here.',
};

function sayError(error) {
  if (error.name === 'AbortError') return;
  say(error.isTold ? error.message : (meanings[error.name] ?? 'The passkey could not be used. Try again, or go on in another way.'));
}

const nextField = () => document.querySelector('input[name=next]')?.value ?? new URLSearchParams(location.search).get('next') ?? '';

let current; // the ceremony that waits for the person: a browser has one at a time

function begin() {
  current?.abort();
  current = new AbortController();
  return current.signal;
}

/** `conditional`: the browser offers passkeys where the address is typed, and waits. */
async function signIn(mediation) {
  const signal = begin();
  const isAgain = page === '/sign-in/again';
  const { publicKey, reason, open } = await ask('/sign-in/passkey/options', isAgain ? { again: '1' } : {});
  if (reason) {
    button.hidden = true;
    part.hidden = false;
    return sayReason(reason, open);
  }
  part.hidden = false;
  if (mediation === 'shown') return;
  const credential = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
    mediation,
    signal,
  });
  try {
    const { next } = await ask(isAgain ? '/sign-in/again/passkey' : '/sign-in/passkey', {
      credential: JSON.stringify(credential),
      next: nextField(),
    });
    location.assign(next);
  } catch (error) {
    // The person's password manager forgets a passkey that was removed here.
    if (error.code === 'passkey_unknown')
      PublicKeyCredential.signalUnknownCredential?.({ rpId: publicKey.rpId, credentialId: credential.id }).catch(() => {});
    throw Object.assign(error, { mayRestart: !signal.aborted }); // not over a ceremony that the person has begun meanwhile
  }
}

let refresh;
let restartsLeft = 3; // of autofill after a refused passkey: a browser that answers by itself must not go round for ever

/** Offers passkeys where the address is typed; anew before the challenge is over, and after one was refused: there may be another. */
async function autofill() {
  clearTimeout(refresh);
  const isAvailable = await PublicKeyCredential.isConditionalMediationAvailable?.();
  if (isAvailable) refresh = setTimeout(autofill, refreshMs);
  try {
    await signIn(isAvailable ? 'conditional' : 'shown');
  } catch (error) {
    if (error.isTold) sayError(error); // the browser's own refusals are for a person who asked for something
    if (error.mayRestart && restartsLeft-- > 0) autofill();
  }
}

async function add() {
  const signal = begin();
  const { publicKey, reason, open } = await ask('/account/passkeys/options', {});
  if (reason) return sayReason(reason, open);
  const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey), signal });
  const name = document.getElementById('passkey-name').value;
  const { next } = await ask('/account/passkeys', { credential: JSON.stringify(credential), name });
  location.assign(next);
}

function onClick(act) {
  button.addEventListener('click', async () => {
    say('');
    clearTimeout(refresh);
    button.disabled = true;
    try {
      await act();
    } catch (error) {
      sayError(error);
      if (page === '/sign-in' && restartsLeft-- > 0) autofill();
    } finally {
      button.disabled = false;
    }
  });
}

if (!part) {
  // The server has shown why there is none.
} else if (!globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  if (page !== '/sign-in') {
    part.hidden = false;
    (document.getElementById('passkey-form') ?? button).hidden = true;
    say('This browser is too old for passkeys, or keeps them from this address.');
  }
} else if (page === '/account/passkeys') {
  part.hidden = false;
  onClick(add);
} else {
  onClick(() => signIn('optional'));
  if (page === '/sign-in/again') part.hidden = false;
  else autofill();
}

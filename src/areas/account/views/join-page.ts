import type { SignedIn } from '../../../identity/store/sessions.ts';
import { escaped } from '../../../kernel/http/html.ts';

interface Offer {
  org: { name: string; slug: string };
  role: string;
  email: string;
  inviter: { email: string; name: string } | undefined;
  mustSignIn: boolean;
}

/** What an invitation offers, and how this visitor takes it. */
export const joinPage = (offer: Offer, person: SignedIn | undefined, path: string): string => {
  const { org, role, email, inviter } = offer;
  const who = inviter ? `<b>${escaped(inviter.name)}</b> (${escaped(inviter.email)})` : 'The operator';
  const what = `<p>${who} invites <b>${escaped(email)}</b> to the organization <b>${escaped(org.name)}</b> (${escaped(org.slug)}), as ${escaped(role)}.</p>`;
  return what + wayIn(offer, person, path);
};

function wayIn({ email, mustSignIn }: Offer, person: SignedIn | undefined, path: string): string {
  const signIn = `/sign-in?next=${encodeURIComponent(path)}`;
  if (person && person.email.toLowerCase() !== email.toLowerCase())
    return `<p role="alert">You are signed in as ${escaped(person.email)}. The invitation is for ${escaped(email)}: sign out, and open the link again.</p><form method="post" action="/sign-out"><button>Sign out</button></form>`;
  if (person)
    return `<p>You are signed in as ${escaped(person.email)}. That account joins.</p><form method="post"><button>Join</button></form>`;
  if (mustSignIn) return `<p>${escaped(email)} has an account here. Sign in to it, and it joins.</p><p><a href="${signIn}">Sign in</a></p>`;
  return `<form method="post" class="wide"><label for="name">Your name</label><input id="name" name="name" maxlength="100" autocomplete="name"><button>Join</button></form><p>Joining makes your account. Do you have one here already? <a href="${signIn}">Sign in first</a>, and that one joins.</p>`;
}

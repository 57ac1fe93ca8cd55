import type { ListedSession } from '../../../identity/store/sessions.ts';
import { escaped } from '../../../kernel/http/html.ts';
import { browserName } from '../rules/browser-name.ts';

/** Sessions as a list of markup, each with a button that ends it. */
export const sessionsList = (sessions: readonly ListedSession[], currentId: string): string =>
  `<ul>${sessions.map((session) => `<li>${describe(session, session.id === currentId)}</li>`).join('')}</ul>`;

const words: Readonly<Record<string, string>> = {
  link: 'link',
  password: 'password',
  totp: 'code',
  recovery: 'recovery code',
  passkey: 'passkey',
  invitation: 'invitation',
};

const howInWords = (methods: readonly string[]) => methods.map((method) => words[method] ?? escaped(method)).join(' and ');

const day = (at: string) => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;

function describe({ id, agent, address, methods, created_at, seen_at }: ListedSession, isCurrent: boolean): string {
  const name = browserName(agent) || 'an unnamed browser';
  const where = `<span title="${escaped(agent)}">${escaped(name)}</span>, ${escaped(address)}`;
  const when = `<span class="faint">by ${howInWords(methods)}, since ${day(created_at)}, last used ${day(seen_at)}</span>`;
  const what = isCurrent ? ' <b>this browser</b>' : '';
  const end = `<form method="post" action="/account/sessions/${encodeURIComponent(id)}/end"><button class="plain" aria-label="Sign out there: ${escaped(name)}, ${escaped(address)}">Sign out there</button></form>`;
  return `${where}${what}<br>${when}${isCurrent ? '' : end}`;
}

import type { FastifyReply } from 'fastify';
import { sendHtml } from '../../../kernel/http/html.ts';

/** The pages of an account, in the order of its menu. */
const pages = [
  ['/account', 'Account'],
  ['/account/passkeys', 'Passkeys'],
  ['/account/password', 'Password'],
  ['/account/second-factor', 'Second factor'],
  ['/account/tokens', 'Tokens'],
] as const;

export type AccountPath = (typeof pages)[number][0];

const menu = (current: AccountPath) =>
  `<nav><a href="/o">Console</a>${pages.map(([path, label]) => `<a href="${path}"${path === current ? ' aria-current="page"' : ''}>${label}</a>`).join('')}</nav>`;

/** A page of the account, with the menu above it. `body` is markup. */
export const sendAccountPage = (reply: FastifyReply, title: string, path: AccountPath, body: string, script?: string, status = 200) =>
  sendHtml(reply, status, title, menu(path) + body, script);

import { escaped } from '../../../kernel/http/html.ts';

interface ListedToken {
  id: string;
  name: string;
  start: string;
  enabled: boolean;
  scope: readonly unknown[];
  minters: readonly string[];
  created_at: string;
  expires_at: string;
  last_request: string | null;
}

interface OrgTokens {
  org: { slug: string; name: string };
  tokens: readonly ListedToken[];
}

/** A person's tokens, by organization, each with a button that revokes it. */
export const tokensList = (all: readonly OrgTokens[]): string =>
  all.some(({ tokens }) => tokens.length) ? all.map(inOrganization).join('') + revokeAll : '<p>You have no tokens.</p>';

const revokeAll =
  '<h2>Revoke all</h2><p>Every program that uses one of them stops at once, in every organization.</p><form method="post" action="/account/tokens/revoke"><button class="plain">Revoke all tokens</button></form>';

function inOrganization({ org, tokens }: OrgTokens): string {
  const names = new Map(tokens.map(({ id, name }) => [id, name]));
  const listed = tokens.map((token) => `<li>${describe(token, org.slug, names)}</li>`).join('');
  return tokens.length ? `<h2>${escaped(org.name)}</h2><ul>${listed}</ul>` : '';
}

const day = (at: string) => at.slice(0, 10);

function describe(token: ListedToken, slug: string, names: ReadonlyMap<string, string>): string {
  const minter = token.minters.at(-1);
  const facts = [
    `made ${day(token.created_at)}`,
    token.last_request ? `last used ${day(token.last_request)}` : 'never used',
    `ends ${day(token.expires_at)}`,
    ...(token.enabled ? [] : ['disabled']),
    ...(token.scope.length ? ['narrowed'] : []),
    ...(minter ? [`minted by ${names.get(minter) ?? minter}`] : []),
  ];
  const action = `/account/tokens/${encodeURIComponent(slug)}/${encodeURIComponent(token.id)}/revoke`;
  return `<b>${escaped(token.name)}</b> <code>${escaped(token.start)}…</code><br><span class="faint">${escaped(facts.join(', '))}</span><br><form method="post" action="${action}"><button class="plain" aria-label="Revoke ${escaped(token.name)}">Revoke</button></form>`;
}

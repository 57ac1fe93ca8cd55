/** The client's side of the token service, shared by the tests of credentials. */

export const basic = (username: string, password: string) => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

export interface TokenAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  body: any;
  headers: Headers;
}

export async function tokenFor(
  url: string,
  authorization: string | undefined,
  scopes: string[],
  more: Record<string, string> = {},
): Promise<TokenAnswer> {
  const query = new URLSearchParams({ service: new URL(url).host, ...more });
  for (const scope of scopes) query.append('scope', scope);
  return read(await fetch(`${url}/token?${query}`, { headers: authorization ? { authorization } : {} }));
}

/** As containerd asks. */
export const tokenByForm = async (url: string, form: Record<string, string>): Promise<TokenAnswer> =>
  read(
    await fetch(`${url}/token`, {
      method: 'POST',
      body: new URLSearchParams({ service: new URL(url).host, client_id: 'containerd-client', ...form }),
    }),
  );

const read = async (answer: Response): Promise<TokenAnswer> => ({
  status: answer.status,
  body: await answer.json(),
  headers: answer.headers,
});

export const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());

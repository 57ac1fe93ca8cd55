import type { EmailSettings } from '../../../sdk/browser.ts';

// Programs to paste. Pure but for the address of this page.

export interface SendKeyMade {
  keyId: string;
  secret: string;
  from: string;
}

export const curlSnippet = ({ secret, from }: SendKeyMade): string => `curl ${location.origin}/api/v1/email/send \\
  -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' \\
  -d '{"from":"${from}","to":["delivered@simulator.invalid"],"subject":"Hello","text":"It works."}'`;

export const swaksSnippet = (
  { keyId, secret, from }: SendKeyMade,
  { host, port }: NonNullable<EmailSettings['submission']>,
): string => `swaks --server ${host} --port ${port} --tls --auth PLAIN \\
  --auth-user ${keyId} --auth-password '${secret}' \\
  --from ${from} --to delivered@simulator.invalid --header 'Subject: Hello' --body 'It works.'`;

export const nodeSnippet = ({ secret, from }: SendKeyMade): string => `const answer = await fetch('${location.origin}/api/v1/email/send', {
  method: 'POST',
  headers: { authorization: 'Bearer ${secret}', 'content-type': 'application/json' },
  body: JSON.stringify({ from: '${from}', to: ['delivered@simulator.invalid'], subject: 'Hello', text: 'It works.' }),
});
if (!answer.ok) throw new Error((await answer.json()).error);
console.log(await answer.json()); // { id, messageId }`;

/** Standard Webhooks 1.0: a repeat within five minutes is told by webhook-id. */
export const verifySnippet = `import { createHmac, timingSafeEqual } from 'crypto';

/** body: the bytes of the request as text, before JSON.parse. */
export function isFromQuarterdeck(headers, body, secret) {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = headers;
  if (Math.abs(Date.now() / 1000 - Number(at)) > 300) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const wanted = createHmac('sha256', key).update(\`\${id}.\${at}.\${body}\`).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.split(',')[1] ?? '', 'base64');
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}`;

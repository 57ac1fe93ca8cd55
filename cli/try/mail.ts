import { quarterdeck } from '../../sdk/index.ts';
import { commandName } from '../command-name.ts';
import { exitCodes, Failure } from '../exit.ts';
import { ensure, readTry, type Trial, waitFor } from './support.ts';

const domainName = 'try.example';
const keyName = 'try';
const recipient = 'you@far.example';
const endStates = ['delivered', 'bounced', 'complained', 'suppressed', 'failed', 'canceled'];

/** Makes the domain try.example and a send key, sends one message, and waits until it is delivered. */
export async function tryMail(trial: Trial): Promise<void> {
  const { api, url, say } = trial;
  const { id: domainId } = await ensure(trial, `the domain ${domainName}`, {
    find: async () => (await api.email.listDomains()).domains.find(({ name }) => name === domainName),
    make: () => api.email.createDomain({ name: domainName }),
  });
  let askedAt = Number.NEGATIVE_INFINITY;
  await waitFor(trial, `${domainName} to be verified`, async () => {
    const { sendState } = await api.email.getDomain(domainId);
    if (sendState === 'verified') return true;
    // A check by hand is offered once in ten seconds.
    if (performance.now() - askedAt > 11_000) {
      askedAt = performance.now();
      await api.email.checkDomain(domainId).catch(() => {});
    }
    return undefined;
  });
  say(`✓ ${domainName} is verified`);

  // Its secret is shown only once, so each run has a key of its own, and the one of the last run goes. A key of that name that sends for
  // other domains is not ours.
  for (const { id, name, domainIds } of (await api.email.listSendKeys()).sendKeys)
    if (name === keyName && domainIds.length === 1 && domainIds[0] === domainId) await api.email.revokeSendKey(id);
  const { secret } = await api.email.createSendKey({ name: keyName, domainIds: [domainId] });
  const sender = quarterdeck({ url, token: secret });
  const { id } = await sender.email.sendEmail({
    from: `Quarterdeck <hello@${domainName}>`,
    to: [recipient],
    subject: 'Hello from quarterdeck try mail',
    text: `It works.\n\nThis message was signed for ${domainName}, queued, and delivered by SMTP.\n`,
    html: `<p><strong>It works.</strong></p><p>This message was signed for ${domainName}, queued, and delivered by SMTP.</p>`,
  });
  say(`✓ message ${id} accepted for ${recipient}`);
  const message = await waitFor(trial, 'the delivery', async () => {
    const { message: seen } = await api.email.getMessage(id);
    return endStates.includes(seen.state) || seen.state === 'sent' ? seen : undefined;
  });
  if (!['delivered', 'sent'].includes(message.state))
    throw new Failure(exitCodes.refused, `the message ended as ${message.state}${message.lastError ? `: ${message.lastError}` : ''}`);
  say(`✓ ${message.state}`);
  const inbox = await readTry<{ messages: { id: number; to: string[] }[] }>(trial, 'inbox.json');
  const arrived = inbox?.messages.find(({ to }) => to.includes(recipient));
  if (arrived) say(`\nRead it: ${url}/try/inbox/${arrived.id}`);
  say(`Its story: ${commandName} email messages get ${id}`);
}

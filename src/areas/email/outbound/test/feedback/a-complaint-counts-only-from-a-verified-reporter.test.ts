import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { sql } from '../../../../../kernel/sql.ts';
import { deliverTo, mxPort } from '../../../inbound/test/receiving/mx-scene.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { complaint } from './mails.ts';
import { suppressions } from './reported.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const published = `v=DKIM1; k=rsa; p=${publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`;

async function sign(message: string, signingDomain: string, more = {}): Promise<string> {
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' });
  const signatureData = [{ signingDomain, selector: 's', privateKey: key, ...more }];
  const { signatures } = await dkimSign(message, { canonicalization: 'relaxed/relaxed', signatureData } as never);
  return signatures + message;
}

test('an organization is paused by three complaints of verified reporters, and by no number of forged ones', async (t) => {
  const { qd, key, sink, dns } = await mailScene(t);
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'email.complained');
  const forged = complaint().toString('latin1');
  const fromOther = forged.replace('feedback@far.example', 'feedback@other.example');
  Object.assign(dns.zone, {
    's._domainkey.far.example': { TXT: [published] },
    's._domainkey.stranger.example': { TXT: [published] },
    'other.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    'stranger.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    's._domainkey.away.example': 'servfail',
  });
  const to = Array.from({ length: 10 }, (_, n) => `r${n}@far.example`);
  const { id } = (await key.post('/email/send', letter({ to }))).body as { id: string };
  await untilState(qd, id, 'delivered');
  // Each complaint alone is half a percent of these, past the limit.
  await qd.app.db.write((tx) => tx.query(sql`update email.sending_hour set recipients = 200`));

  let complained = 0;
  const complain = async (message: string, from: string) => {
    const { from: returnPath } = sink.messages[complained]!;
    assert.match(await deliverTo(t, mxPort(qd), { from, to: [returnPath], message }), /^250 /);
    const heard = await endpoint.heard(++complained);
    const { paused, warning } = (await qd.owner.get('/email/settings')).body as { paused: boolean; warning?: string };
    return { ...heard.at(-1)!.event.data.complaint, paused, isWarned: warning !== undefined };
  };

  const doubtful: [string, string, RegExp][] = [
    [forged, '', /^neither DKIM nor SPF shows that far\.example sent the report$/],
    // SPF passes for a domain that is not the reporter's.
    [forged, 'eve@stranger.example', /^neither DKIM nor SPF/],
    [await sign(forged, 'stranger.example'), '', /^neither DKIM nor SPF/],
    // A signature over the beginning of the body does not protect the rest.
    [await sign(forged, 'far.example', { maxBodyLength: 10 }), '', /^neither DKIM nor SPF/],
    [forged.replace('From:', 'From: <a@other.example>\r\nFrom:'), 'x@other.example', /^the report has no From, or more than one$/],
    [await sign(forged.replace('feedback@far', 'feedback@away'), 'away.example'), '', /^the DNS did not say whether away\.example/],
  ];
  for (const [message, from, why] of doubtful) {
    const said = await complain(message, from);
    assert.deepEqual([said.counted, said.paused, said.isWarned], [false, false, false], String(why));
    assert.match(said.notCountedBecause, why);
  }
  const { message, events } = await untilState(qd, id, 'complained');
  assert.match(message.lastError!, /complained \(abuse\); not counted: /);
  assert.equal(events.filter(({ kind, detail }) => kind === 'complained' && detail?.counted === false).length, doubtful.length);
  assert.equal((await suppressions(qd)).length, doubtful.length, 'the recipients hear no more of it all the same');

  assert.deepEqual(await complain(await sign(forged, 'far.example'), ''), {
    feedbackType: 'abuse',
    userAgent: 'Feedback/1.0',
    source: 'dns; fbl.far.example',
    counted: true,
    reporter: 'far.example',
    verifiedBy: 'dkim',
    paused: false,
    isWarned: true,
  });
  const second = await complain(fromOther, 'bounces@other.example');
  assert.deepEqual([second.verifiedBy, second.reporter, second.paused], ['spf', 'other.example', false]);
  assert.equal((await complain(await sign(forged, 'far.example'), '')).paused, true);
});

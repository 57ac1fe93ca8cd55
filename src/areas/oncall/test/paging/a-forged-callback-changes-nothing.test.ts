import assert from 'node:assert/strict';
import { test } from 'node:test';
import twilioLibrary from 'twilio';
import { isSigned, sign } from '../../planes/twilio/signature.ts';
import { announce } from '../../rules/twiml.ts';
import { detail, open, phoneWard } from '../phone-support.ts';

test('a callback counts only with the signature of the organization’s own account', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'voice', delaySeconds: 0 }]);
  const incident = await open(qd);
  const call = await qd.twilio.received({ to: qd.alice.phone, kind: 'call' });
  const action = /action="([^"]*)"/.exec(call.twiml!)![1]!;
  const press = (signature: string, url = action) =>
    fetch(url, { method: 'POST', headers: { 'x-twilio-signature': signature }, body: new URLSearchParams({ Digits: '1' }) });

  const good = qd.twilio.sign(action, { Digits: '1' });
  const other = await qd.organization('other');
  for (const answer of [
    await press(''),
    await press('bm9wZQ=='),
    await press(qd.twilio.sign(action, { Digits: '2' })),
    await press(good, `${action}?x=1`),
    await press(good, action.replace(qd.owner.orgId, other.orgId)),
  ]) {
    assert.equal(answer.status, 403);
  }
  assert.equal((await detail(qd, incident.id)).status, 'open');
  // Twilio’s addresses serve all its customers: wrong signatures of others do not block an acknowledgement.
  const nobody = action.replace(qd.owner.orgId, 'org_nobody');
  for (let n = 0; n < 100; n++) assert.equal((await press('bm9wZQ==', nobody)).status, 403);
  assert.equal((await press(good)).status, 200);
  assert.equal((await detail(qd, incident.id)).status, 'acknowledged');
});

test('the provider’s own library accepts our signatures and we accept its', () => {
  const url = 'https://deck.example/api/v1/oncall/twilio/org_1/page_1/status?a=1&b=2';
  const fields = { CallSid: 'CA1', Digits: '1', Body: 'grüße & co', From: '+15550100001' };
  assert.ok(twilioLibrary.validateRequest('12345', sign('12345', url, fields), url, fields));
  const theirs = twilioLibrary.getExpectedTwilioSignature('12345', url, fields);
  assert.ok(isSigned('12345', url, fields, theirs));
  assert.equal(isSigned('12346', url, fields, theirs), false);
});

test('what a call says is well-formed and short enough, whatever the title holds', () => {
  for (const title of ['plain', '<Say>&"\'</Say>'.repeat(100), '\u0000\u0007\ud800 emoji 🚒', 'x'.repeat(10_000)]) {
    const twiml = announce({ title, serviceName: title }, 'https://deck.example/gather?a=1&b=2');
    assert.ok(twiml.length <= 4_000, `${twiml.length}`);
    const stack: string[] = [];
    for (const [, close, name, rest] of twiml.replace(/^<\?xml[^>]*\?>/, '').matchAll(/<(\/?)([A-Za-z]+)((?:\s[^<>]*?)?\/?)>/g)) {
      if (close) assert.equal(stack.pop(), name);
      else if (!rest!.endsWith('/')) stack.push(name!);
    }
    assert.deepEqual(stack, []);
    assert.doesNotMatch(twiml.replaceAll(/<[^>]*>/g, ''), /[<>]|&(?!#\d+;)/);
  }
});

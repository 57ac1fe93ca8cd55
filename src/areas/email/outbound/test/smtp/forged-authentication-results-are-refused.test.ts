import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliverTo, letterIn, mxScene } from '../../../inbound/test/receiving/mx-scene.ts';
import { email } from '../../../index.ts';
import { letter } from '../../../test/mail-scene.ts';
import { sendingKey } from '../../../test/sending-key.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';

const brought: Record<string, string> = {
  'Authentication-Results': 'mx.host.example; dkim=pass header.d=bank.example',
  'DKIM-Signature': 'v=1; a=rsa-sha256; d=example.com; s=s; h=from; bh=aGVsbG8=; b=aGVsbG8=',
  'DomainKey-Signature': 'a=rsa-sha1; d=example.com; s=s; b=aGVsbG8=',
  'Received-SPF': 'pass',
  'ARC-Authentication-Results': 'i=1; mx.host.example; spf=pass',
  'ARC-Seal': 'i=1; a=rsa-sha256; cv=none; d=example.com; s=s; b=aGVsbG8=',
  'X-Quarterdeck-Verdict': 'good',
};

test('signatures and authentication results of a sender are refused by HTTP and by SMTP', async (t) => {
  const { qd, port, endpoint } = await mxScene(t);
  const key = await sendingKey(qd);
  const submission = qd.own(email).smtp.ports[0]!;
  const resend = (headers: Record<string, string>) =>
    fetch(`${qd.url}/resend/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'ada@example.com', to: 'bob@far.example', subject: 'Hello', text: 'Hello', headers }),
    });
  for (const [name, value] of Object.entries(brought))
    await t.test(name, async () => {
      const { status, body } = await key.post('/email/send', letter({ headers: { [name]: value } }));
      assert.equal(status, 400);
      assert.match((body as { error: string }).error, new RegExp(`headers\\.${name} is set by the platform`));
      assert.equal((await resend({ [name]: value })).status, 422);
      for (const written of [name, name.toUpperCase(), `${name} `]) {
        const speaker = await speakSmtp(t, submission);
        await speaker.beginMessage(key.secret);
        const answer = await speaker.say(`${written}: ${value}\r\nFrom: ada@example.com\r\nTo: bob@far.example\r\n\r\nHello.\r\n.`);
        assert.match(answer, new RegExp(`^554 5\\.6\\.0 the header has ${name.toLowerCase()}, which the platform writes itself`));
        speaker.socket.destroy();
      }
    });
  assert.deepEqual((await qd.owner.get('/email/messages')).body.messages, []);

  await t.test('and where mail comes in, a verdict in our name is', async () => {
    const inOurName = [
      'mx.host.example;',
      ' MX.Host.Example ;',
      '(checked) mx.host.example 1;',
      '\r\n\t"mx.host.example" ;',
      'mx.host.example.;',
      'mx.host.example',
      // As strict and lenient parsers find it.
      '(a \\( b) mx.host.example;',
      '"mx\\.host.example";',
      `(${'a'.repeat(900)}${`\r\n ${'a'.repeat(900)}`.repeat(5)}) mx.host.example;`,
      `${`\r\n ${' '.repeat(900)}`.repeat(5)}mx.host.example;`,
      '(a (b) mx.host.example;',
      'mx(c) .host .example;',
      'mx.host.example/1;',
      '=?utf-8?q?mx=2Ehost=2Eexample?=;',
      '\uff4dx.host.example;',
      'mx.host\u200b.example..;',
    ];
    for (const id of inOurName) {
      const message = letterIn(`Authentication-Results:${id} spf=pass\r\n`);
      assert.match(await deliverTo(t, port, { message }), /^550 5\.7\.1 the header has Authentication-Results of mx\.host\.example/, id);
    }
    // Results of other servers stay: readers decide which they trust. Signatures are verified.
    const others = `Authentication-Results: mx.far.example (for \\( mx.host.example); spf=pass smtp.helo=mx.host.example\r\nDKIM-Signature: ${brought['DKIM-Signature']}\r\n`;
    assert.match(await deliverTo(t, port, { message: letterIn(others) }), /^250 /);
    const [told] = await endpoint.heard(1);
    assert.notEqual(told!.event.data.authentication.dkim[0].result, 'pass');
  });
});

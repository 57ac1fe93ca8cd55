import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../../../test/harness/any-text.ts';
import { asLine, asLink, pageLimits, pageSubject, pageText } from '../../rules/page-mail.ts';
import { alert, covered, group, made, mails, source, unresolved, user, ward } from '../support.ts';

/** The text of a mail as a person reads it. */
const textOf = (data: string): string => {
  const [head = '', ...rest] = data.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString();
  if (!/quoted-printable/i.test(head)) return body.replaceAll('\r\n', '\n');
  const bytes = body.replaceAll('=\r\n', '').replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n');
};

test('the mail of a page carries the alert’s labels, its runbook, and the sender’s link', async (t) => {
  const { owner, smtp, url } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const prometheus = await source(owner, url, service.id);
  const fired = alert('node-1', { labels: { team: 'storage' } });
  const annotations = { ...fired.annotations, runbook_url: 'https://runbooks.example/target-down' };
  await made(prometheus.deliver(group([{ ...fired, annotations }])));

  const [mail] = await mails(smtp, owner.email, 1);
  const text = textOf(mail!.data);
  for (const line of [
    'Runbook: https://runbooks.example/target-down',
    'Source: http://prometheus.example:9090/graph?g0.expr=up',
    '  alertname = TargetDown',
    '  instance = node-1',
    '  severity = critical',
    '  team = storage',
  ])
    assert.ok(text.split('\n').includes(line), `${line} is missing in\n${text}`);
  assert.ok(text.indexOf('/oncall/ack/') < text.indexOf('Runbook:'), 'what to do comes first');
});

test('of many alerts the first few are told, and how many more fire', async (t) => {
  const { owner, smtp, url } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const prometheus = await source(owner, url, service.id);
  await made(prometheus.deliver(group(Array.from({ length: 150 }, (_, n) => alert(`node-${n}`)))));
  const [mail] = await mails(smtp, owner.email, 1);
  const text = textOf(mail!.data);
  assert.equal(text.match(/^ {2}instance = /gm)?.length, 3);
  assert.match(text, /^147 more alerts fire\.$/m);
});

test('what a sender writes breaks neither a header nor a line, however long it is', async (t) => {
  const { owner, smtp, url } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const prometheus = await source(owner, url, service.id);
  const labels = {
    alertname: 'Down\r\nBcc: everybody@example.com\r\n\r\nInjected',
    long: 'x'.repeat(100_000),
    'odd\r\nname': 'a\u2028b\u202egnp.exe',
    ...Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`z${n}`, 'v'])),
  };
  const fired = alert('node-1', { labels });
  await made(
    prometheus.deliver(
      group([
        {
          ...fired,
          annotations: {
            summary: 'down\r\nBcc: all@example.com',
            description: 'x'.repeat(50_000),
            runbook_url: 'javascript:alert(1)',
          } as never,
          generatorURL: 'file:///etc/passwd',
        },
      ]),
    ),
  );
  const [mail] = await mails(smtp, owner.email, 1);
  assert.deepEqual(mail!.to, [owner.email]);
  const head = mail!.data.slice(0, mail!.data.indexOf('\r\n\r\n'));
  assert.doesNotMatch(head, /^bcc:/im);
  assert.match(head, /^Subject: .*down Bcc: all@example\.com/m);
  const text = textOf(mail!.data);
  assert.doesNotMatch(text, /javascript:|file:|\u202e|\u2028/);
  assert.ok(text.length < 12_000, `${text.length} characters`);
  assert.match(text, /^ {2}alertname = Down Bcc: everybody@example.com Injected$/m);
  assert.match(text, /^ {2}and 35 more labels$/m);
  assert.equal((await unresolved(owner)).length, 1);
});

test('a link is one that opens in a browser and says where it leads', () => {
  for (const good of ['https://a.example/b?c=d#e', 'http://[::1]:9090/graph']) assert.equal(asLink(good), good);
  for (const bad of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://a.example',
    '/graph',
    'a.example',
    '',
    'https://bank.example@evil.example/',
  ])
    assert.equal(asLink(bad), undefined, bad);
  assert.equal(asLink(`https://a.example/${'x'.repeat(pageLimits.characters)}`), undefined);
  assert.equal(asLink('https://a.example/\r\nBcc: x'), 'https://a.example/Bcc:%20x', 'one line, whatever it was');
});

test('whatever the words are, a line is one line, and a mail has an end', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 3_000 }), fc.dictionary(fc.string(), fc.string(), { maxKeys: 20 }), (words, labels) => {
      assert.doesNotMatch(asLine(words, 200), /[\r\n\u2028\u2029]/);
      assert.ok(asLine(words, 200).length <= 200);
      const incident = { id: 'inc_1', title: words, serviceName: words, description: words };
      assert.doesNotMatch(pageSubject({ incident }), /[\r\n]/);
      const one = { title: words, labels, moreLabels: 0, runbook: undefined, source: undefined };
      assert.ok(
        pageText({ incident, alerts: [one, one, one], moreAlerts: 0, further: [], isAcknowledged: false, ackUrl: 'https://a.example' })
          .length < 30_000,
      );
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DnsAnswer, DnsType } from '../../../../../kernel/dns/index.ts';
import { observeRecord } from '../../rules/dns-defects.ts';
import { recordsOf } from '../../rules/dns-records.ts';
import { findingOf } from '../../rules/domain-state.ts';

const keys = {
  name: 'example.com',
  rsa_selector: 'r',
  rsa_public: 'cnNhIGtleSBieXRlcw==',
  ed_selector: 'e',
  ed_public: 'ZWQga2V5',
  receive_state: 'pending',
};
const [rsa, ed, mx, spf, dmarc, inbound] = recordsOf(keys, 'mx.host.example') as [never, never, never, never, never, never];

const answer = (type: DnsType, data: unknown[], more: Partial<DnsAnswer> = {}): DnsAnswer => ({
  outcome: data.length ? 'found' : 'nodata',
  records: data.map((d) => ({ type, name: 'x', ttl: 60, data: d })),
  aliases: [],
  ttl: 60,
  authentic: false,
  server: '192.0.2.53',
  ...more,
});
const judge = (record: never, found: DnsAnswer) => {
  const { outcome, reason } = observeRecord(record, found);
  return reason ? `${outcome} ${reason}` : outcome;
};
const txt = (record: never, ...texts: string[]) => judge(record, answer('TXT', texts));
const mail = (...hosts: [number, string][]) =>
  judge(
    mx,
    answer(
      'MX',
      hosts.map(([preference, exchange]) => ({ preference, exchange })),
    ),
  );

test('a DKIM key is compared by its bytes', () => {
  assert.equal(txt(rsa, 'v=DKIM1; k=rsa; p=cnNhIGtleSBieXRlcw=='), 'found');
  assert.equal(txt(rsa, 'v=DKIM1;p=cnNhIGtl\n eSBieXRlcw==;'), 'found', 'rsa is what no k means; a key may be wrapped');
  assert.equal(txt(rsa, ' p = cnNhIGtleSBieXRlcw ; t=s; v=DKIM1'), 'found');
  assert.equal(txt(ed, 'v=DKIM1; k=ed25519; p=ZWQga2V5'), 'found');
  assert.equal(txt(ed, 'v=DKIM1; p=ZWQga2V5'), 'mismatch wrong_value', 'an ed25519 key that calls itself RSA');
  assert.equal(txt(rsa, 'v=DKIM1; k=rsa; p='), 'mismatch wrong_value', 'revoked');
  assert.equal(txt(rsa, '"v=DKIM1; k=rsa; p=cnNhIGtleSBieXRlcw=="'), 'mismatch wrong_value', 'in typed quotes');
  assert.equal(txt(rsa, 'v=DKIM1; k=rsa; p=cnNhIGtleSBieXRlcw==', 'v=DKIM1; k=rsa; p=b2xk'), 'mismatch multiple_records');
  assert.equal(txt(rsa, `v=DKIM1;${' '.repeat(60_000)}x`), 'mismatch wrong_value', 'and a hostile one takes no time');
});

test('the return path’s MX is our host alone', () => {
  assert.equal(mail([10, 'mx.host.example']), 'found');
  assert.equal(mail([0, 'mx.host.example']), 'found', 'the only one is the first one');
  assert.equal(mail([10, 'mx.host.example'], [20, 'mx.other.example']), 'mismatch extra_mx');
  assert.equal(mail([10, 'mx.other.example']), 'mismatch wrong_value');
  assert.equal(mail(), 'missing nodata');
});

test('SPF may permit our host beside other mechanisms', () => {
  assert.equal(txt(spf, 'v=spf1 a:mx.host.example ~all'), 'found');
  assert.equal(txt(spf, 'V=SPF1  include:other.example  +a:MX.host.example.  -all'), 'found');
  assert.equal(txt(spf, 'v=spf1 mx -all'), 'found', 'the MX of that name is this host');
  assert.equal(txt(spf, 'v=spf1 include:mx.host.example -all', 'some other text'), 'found');
  assert.equal(txt(spf, 'v=spf1 -a:mx.host.example ~all'), 'mismatch wrong_value');
  assert.equal(txt(spf, 'v=spf1 include:other.example ~all'), 'mismatch wrong_value');
  assert.equal(txt(spf, 'v=spf10 a:mx.host.example'), 'mismatch wrong_value');
  assert.equal(txt(spf, 'v=spf1 mx -all', 'v=spf1 a:mx.host.example -all'), 'mismatch multiple_records');
});

test('any DMARC policy is accepted, and none is required', () => {
  assert.equal(txt(dmarc, 'v=DMARC1; p=reject; rua=mailto:x@example.com'), 'found');
  assert.equal(txt(dmarc, 'v=DMARC1'), 'mismatch wrong_value');
  const others = [
    [rsa, 'v=DKIM1; p=cnNhIGtleSBieXRlcw=='],
    [ed, 'v=DKIM1; k=ed25519; p=ZWQga2V5'],
    [spf, 'v=spf1 mx -all'],
  ] as const;
  const observed = [
    ...others.map(([record, text]) => observeRecord(record, answer('TXT', [text]))),
    observeRecord(mx, answer('MX', [{ preference: 10, exchange: 'mx.host.example' }])),
  ];
  const absent = observeRecord(dmarc, answer('TXT', []));
  assert.equal(findingOf([...observed, absent]), 'found');
  assert.equal(findingOf(observed.with(3, observeRecord(mx, answer('MX', [], { outcome: 'servfail' })))), 'unknown');
  assert.equal(findingOf(observed.with(3, observeRecord(mx, answer('MX', [])))), 'missing');
});

test('an alias to the right record is accepted, and any other is reported', () => {
  const aliases = ['keys.other.example'];
  assert.equal(judge(rsa, answer('TXT', ['v=DKIM1; p=cnNhIGtleSBieXRlcw=='], { aliases })), 'found');
  assert.equal(judge(rsa, answer('TXT', ['v=DKIM1; p=b2xk'], { aliases })), 'mismatch cname_conflict');
  assert.equal(judge(rsa, answer('TXT', [], { aliases, outcome: 'nxdomain' })), 'mismatch cname_conflict');
  assert.equal(observeRecord(rsa, answer('TXT', [], { aliases })).observed, 'CNAME keys.other.example');
  assert.equal(judge(rsa, answer('TXT', [], { outcome: 'servfail' })), 'error servfail');
  assert.equal(judge(rsa, answer('TXT', [], { outcome: 'timeout' })), 'error timeout');
  assert.equal(judge(rsa, answer('TXT', [], { outcome: 'nxdomain' })), 'missing nxdomain');
});

test('the inbound MX is found when our host is alone at the lowest preference', () => {
  const at = (preference: number, exchange = 'mx.host.example') => ({ preference, exchange });
  const outcome = (...found: unknown[]) => {
    const { outcome: came, reason } = observeRecord(inbound, answer('MX', found));
    return reason ?? came;
  };
  assert.equal(outcome(at(10)), 'found');
  assert.equal(outcome(at(5), at(20, 'backup.example')), 'found', 'others behind it are for when we are away');
  assert.equal(outcome(at(10), at(10, 'other.example')), 'extra_mx');
  assert.equal(outcome(at(10), at(1, 'other.example')), 'extra_mx');
  assert.equal(outcome(at(10, 'other.example')), 'wrong_value');
  assert.equal(outcome(), 'nodata');
  assert.deepEqual(recordsOf({ ...keys, receive_state: 'none' }, 'mx.host.example').length, 5, 'one that is not armed has no such record');
});

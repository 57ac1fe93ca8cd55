import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { adjustConcurrency, initialConcurrency, limitsOf, type SiteConcurrency } from '../../rules/site.ts';

const say = (pace: SiteConcurrency, now: number, ...answers: ('good' | 'later' | 'asksForLess')[]) =>
  answers.reduce((next, answer) => adjustConcurrency(next, 10, now, answer), pace);

test('a site that asks for a lower rate loses half of its connections, once a minute', () => {
  let pace = say(initialConcurrency(10, 0), 0, 'asksForLess', 'asksForLess', 'asksForLess');
  assert.equal(pace.connections, 5);
  pace = say(pace, 61_000, 'asksForLess');
  assert.equal(pace.connections, 2);
  pace = say(say(pace, 122_000, 'asksForLess'), 200_000, 'asksForLess');
  assert.equal(pace.connections, 1);
});

test('a third of 4xx answers in a minute has the same effect; a few do not', () => {
  assert.equal(say(initialConcurrency(10, 0), 5, ...Array(7).fill('good'), 'later', 'later', 'later').connections, 5);
  assert.equal(say(initialConcurrency(10, 0), 5, ...Array(8).fill('good'), 'later', 'later').connections, 10);
  assert.equal(say(initialConcurrency(10, 0), 5, 'later', 'later').connections, 10, 'too few to judge');
});

test('each clean minute with mail adds one connection', () => {
  let pace = say(initialConcurrency(10, 0), 0, 'asksForLess');
  for (let minute = 1; minute <= 4; minute++) pace = say(pace, minute * 61_000, 'good');
  assert.equal(pace.connections, 8);
});

test('a site has at least one connection and at most its limit', () => {
  const answers = fc.array(fc.tuple(fc.constantFrom('good', 'later', 'asksForLess'), fc.nat(90_000)), { maxLength: 200 });
  fc.assert(
    fc.property(answers, (given) => {
      let now = 0;
      let pace = initialConcurrency(10, 0);
      for (const [answer, pause] of given) {
        now += pause;
        pace = adjustConcurrency(pace, 10, now, answer as 'good');
        assert.ok(pace.connections >= 1 && pace.connections <= 10);
      }
    }),
  );
});

test('provider limits apply if all hosts belong to the provider', () => {
  assert.deepEqual(limitsOf(['aspmx.l.google.com', 'alt1.aspmx.l.google.com']), {
    connections: 5,
    messagesPerConnection: 50,
    connectionsPerMinute: 100,
    requiresTls: true,
  });
  assert.equal(limitsOf(['mta5.am0.yahoodns.net']).messagesPerConnection, 20);
  assert.equal(limitsOf(['example-org.mail.protection.outlook.com']).connections, 5);
  assert.equal(limitsOf(['aspmx.l.google.com', 'mx.example.org']).requiresTls, false);
  assert.equal(limitsOf(['notgoogle.com']).requiresTls, false);
  assert.equal(limitsOf([]).connections, 10);
});

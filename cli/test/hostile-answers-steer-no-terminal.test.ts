import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCommands } from '../../sdk/commands.ts';
import { readThings } from '../../sdk/things.ts';
import { confirmLoss } from '../confirm.ts';
import { describe, typed } from '../feedback.ts';
import { wordFor } from '../names/complete.ts';
import { unknownThing } from '../names/find.ts';
import type { Look } from '../output/look.ts';
import { displayWidth, fitted } from '../output/width.ts';
import { formatted } from '../print.ts';
import { printable } from '../printable.ts';
import { layOut } from '../where/words.ts';
import { now, sampleAnswer } from './samples.ts';

// Every answer of the contract, with all its texts replaced by what another tenant may have typed.

const look = (width: number): Look => ({ width, color: false, unicode: true, now });
const shown = readCommands().commands.filter(({ silent, streams }) => !silent && !streams);
const steers = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const hostile = [
  '\u001b]0;title\u0007\u001b[2J\u009b1mgone',
  'web\r\nState  up\tx',
  '\u202egnp.exe\u2066\u200f',
  '👨\u200d👩\u200d👧 🇩🇪 中文字列 👍🏽',
  `pile${'\u0301'.repeat(50)}`,
  'lone\ud800',
  'tag\u{e0041} line\u2028',
  'x'.repeat(10_000),
];

/** The same answer with other texts: moments and what the server itself chooses from stay. */
function poisoned(value: unknown, text: string): unknown {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT/.test(value) ? value : text;
  if (Array.isArray(value)) return value.map((each) => poisoned(each, text));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, poisoned(inner, text)]));
}

test('whatever the texts of an answer, no list, sheet or format of it steers a terminal or cuts a value', () => {
  for (const command of shown)
    for (const text of hostile) {
      const answer = poisoned(sampleAnswer(command.operation), text) as Record<string, unknown>;
      const isWide = (line: string) => displayWidth(line) > 80 && !line.includes(printable(text).slice(0, 20).trim());
      for (const output of ['table', 'wide', 'json', 'yaml']) {
        const drawn = formatted(answer, command, output, look(80));
        const where = `${command.words.join(' ')} -o ${output}: ${JSON.stringify(text.slice(0, 40))}`;
        // A file for copying keeps its tabs.
        const isFile = 'kubeconfig' in answer || 'cloudConfig' in answer;
        assert.doesNotMatch(isFile ? drawn.replaceAll('\t', '') : drawn, steers, where);
        if (text.length === 10_000 && JSON.stringify(answer).includes(text)) assert.ok(drawn.includes(text), `${where} is cut`);
        // Besides lines that hold a value which is longer than the terminal.
        if (output === 'table' && text.length < 40) assert.deepEqual(drawn.split('\n').filter(isWide), [], where);
      }
      assert.deepEqual(JSON.parse(formatted(answer, command, 'json', look(80))), JSON.parse(JSON.stringify(answer)));
    }
});

test('names stand in one line of feedback, questions, refusals and reports, and none becomes a command', async () => {
  for (const name of hostile) {
    const what = { id: name, name };
    const asked: string[] = [];
    const prompt = {
      isTerminal: true,
      ask: async (question: string) => {
        asked.push(question);
        return '';
      },
    };
    for (const forGood of [true, false]) {
      const losing = { word: 'cluster', what: { id: `id ${name}`, name }, loses: 'its data', forGood, verb: 'delete' };
      await confirmLoss(losing, false, prompt).catch(() => {});
      await confirmLoss(losing, false, { ...prompt, isTerminal: false }).catch(({ message }: Error) => asked.push(message));
    }
    const { webhook } = readThings().things;
    const sentences = [
      ...asked.map((text) => text.replace('\nType', ' Type').replace('\nDelete', ' Delete')),
      describe('webhook', what),
      describe('webhook', { id: `id ${name}`, name }),
      typed(what),
      unknownThing(webhook!, [{ id: 'whk_1', url: name }], `${name}x`, []).message,
      fitted(printable(name).replaceAll('\n', ' ').replaceAll('\t', ' '), 79),
      layOut([{ verdict: 'ok', subject: 'mail', says: printable(name).replaceAll(/\s/g, ' ') }], 80).trimEnd(),
    ];
    for (const sentence of sentences)
      assert.doesNotMatch(sentence.replace(/\n {17}/g, ''), /\n|\t/, JSON.stringify(sentence.slice(0, 200)));
    for (const sentence of sentences) assert.doesNotMatch(sentence, steers, JSON.stringify(sentence.slice(0, 200)));
    for (const sentence of sentences.slice(0, -1)) assert.ok(displayWidth(sentence) < 1_000, 'a name fills the screen');
    assert.equal(wordFor(what), undefined, 'completion offers what a shell takes as it is');
  }
  assert.equal(wordFor({ id: 'dom_1', name: '$(reboot)' }), 'dom_1');
  assert.equal(wordFor({ id: '--force' }), undefined);
  assert.equal(displayWidth(fitted('中'.repeat(100), 79)), 78);
});

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Command, readCommands } from '../../sdk/commands.ts';
import { fieldAt } from '../../sdk/values.ts';
import type { Look } from '../output/look.ts';
import { displayWidth } from '../output/width.ts';
import { formatted } from '../print.ts';
import { now, sampleAnswer } from './samples.ts';

// The pictures are for reading: after a change, QUARTERDECK_UPDATE=1 draws them anew, and `git diff` shows what users will see.
const folder = new URL('./pictures/', import.meta.url);
const look = (width: number | undefined): Look => ({ width, color: false, unicode: true, now });
const shown = readCommands().commands.filter(
  ({ silent, streams, columns, words }) => !silent && !streams && (Object.keys(columns).length || words.at(-1) === 'get'),
);
const widths = [80, 110, 200, undefined];

const pictureOf = (command: Command) =>
  widths
    .map(
      (width) =>
        `── ${width ? `${width} columns` : 'a pipe'} ──\n${formatted(sampleAnswer(command.operation), command, 'table', look(width))}`,
    )
    .join('\n');

test('every list and every sheet looks as its picture, on terminals of 80, 110 and 200 columns and on a pipe', () => {
  mkdirSync(folder, { recursive: true });
  const pictures = new Map(shown.map((command) => [`${command.words.join('-')}.txt`, pictureOf(command)]));
  if (process.env['QUARTERDECK_UPDATE']) for (const [file, picture] of pictures) writeFileSync(new URL(file, folder), picture);
  assert.deepEqual(
    readdirSync(folder).sort(),
    [...pictures.keys()].sort(),
    'QUARTERDECK_UPDATE=1 adds new ones; delete those without a command',
  );
  for (const [file, picture] of pictures) assert.equal(picture, readFileSync(new URL(file, folder), 'utf8'), file);
});

test('no value of a shown column is cut, however narrow the terminal', () => {
  for (const command of shown)
    for (const width of [20, 80, 110, 200]) {
      const answer = sampleAnswer(command.operation);
      const text = formatted(answer, command, 'table', look(width));
      for (const [list, columns] of Object.entries(command.columns))
        for (const { key, as, wide, rest } of columns)
          for (const row of answer[list] as object[]) {
            const value = fieldAt(row, key);
            const isCopied = typeof value === 'string' && !wide && !rest && as !== 'text' && !/^\d{4}-\d\d-\d\dT/.test(value);
            if (isCopied) assert.ok(text.includes(value), `${command.operation} ${key} at ${width}: ${value}\n${text}`);
          }
    }
});

test('lines are as wide as the terminal at most, but for values that are longer than it', () => {
  for (const command of shown)
    for (const width of [80, 110, 200])
      for (const line of formatted(sampleAnswer(command.operation), command, 'table', look(width)).split('\n')) {
        const longest = Math.max(...line.split(/ {2,}/).map(displayWidth));
        assert.ok(displayWidth(line) <= width || longest > width - 24, `${command.operation} at ${width}:\n${line}`);
      }
});

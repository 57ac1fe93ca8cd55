/** The same numbers for the same seed, so that what was found once is found again. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

type Damage = (mail: Buffer, other: Buffer, random: () => number) => Buffer;

const pick = (random: () => number, below: number) => Math.floor(random() * Math.max(1, below));

const damages: Damage[] = [
  (mail, _other, random) => mail.subarray(0, pick(random, mail.length)),
  (mail, _other, random) => mail.subarray(pick(random, mail.length)),
  (mail, _other, random) => {
    const damaged = Buffer.from(mail);
    for (let n = 0; n < 50; n++) damaged[pick(random, mail.length)] = pick(random, 256);
    return damaged;
  },
  (mail, other, random) => Buffer.concat([mail.subarray(0, pick(random, mail.length)), other.subarray(pick(random, other.length))]),
  (mail, _other, random) => {
    const lines = mail.toString('latin1').split('\n');
    for (let n = 0; n < 10; n++)
      lines.splice(pick(random, lines.length), 1, ...(random() < 0.5 ? [] : [lines[pick(random, lines.length)]!]));
    return Buffer.from(lines.join('\n'), 'latin1');
  },
  // One line, very many times: what looks back or ahead without a bound shows here.
  (mail, _other, random) => {
    const lines = mail.toString('latin1').split('\n');
    const at = pick(random, lines.length);
    const most = Math.ceil(1_000_000 / (lines[at]!.length + 1));
    lines.splice(at, 1, ...Array<string>(Math.min(most, 50_000)).fill(lines[at]!));
    return Buffer.from(lines.join('\n'), 'latin1');
  },
  // One word, very many times, in one line.
  (mail, _other, random) => {
    const words = mail.toString('latin1').split(' ');
    const at = pick(random, words.length);
    words[at] = `${words[at]!.slice(0, 40)} `.repeat(20_000);
    return Buffer.from(words.join(' '), 'latin1');
  },
  (mail) => Buffer.from(mail.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'),
  (mail) => Buffer.from(mail.toString('latin1').replaceAll('\n', ' '), 'latin1'),
  (mail) => Buffer.from(mail.toString('latin1').replaceAll(' ', '').replaceAll('.', ''), 'latin1'),
];

/** One mail, damaged in one or two ways. */
export function mutate(mail: Buffer, other: Buffer, random: () => number): Buffer {
  const once = damages[pick(random, damages.length)]!(mail, other, random);
  return random() < 0.5 ? once : damages[pick(random, damages.length)]!(once, other, random);
}

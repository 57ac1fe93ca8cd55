import fc from 'fast-check';

// A model that knows nothing of jobs, locks or rows: it plays the rule of the specification from one thing that is due to the next.

export interface Story {
  waits: number[];
  repeat: number;
  /** Whom each step targets: somebody who is there, has left, or whose every page fails. */
  who: ('present' | 'absent' | 'unreachable')[];
  /** Seconds after which the acknowledger is reminded. */
  remind: number;
  /** The first acknowledger cannot be reached afterwards. */
  deaf: boolean;
  /** `away`: the clock jumps, as if the server had not run meanwhile. The sender may repeat its alerts, end them, or say no more. */
  deeds: (
    | { is: 'pass' | 'away'; seconds: number }
    | { is: 'ack' | 'resolve' | 'edit' | 'restart' | 'alert' | 'repeat' | 'end' | 'leave' }
  )[];
}

export const stories: fc.Arbitrary<Story> = fc
  .record({
    waits: fc.array(fc.constantFrom(0, 1_010, 3_030, 15_150), { minLength: 1, maxLength: 4 }),
    repeat: fc.integer({ min: 0, max: 2 }),
    who: fc.array(fc.constantFrom('present' as const, 'present' as const, 'absent' as const, 'unreachable' as const), {
      minLength: 4,
      maxLength: 4,
    }),
    remind: fc.constantFrom(0, 7_000),
    deaf: fc.boolean(),
    deeds: fc.array(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({
            is: fc.constantFrom('pass' as const, 'pass' as const, 'away' as const),
            seconds: fc.constantFrom(350, 1_250, 3_050, 5_950, 20_350, 92_450),
          }),
        },
        {
          weight: 5,
          arbitrary: fc.record({ is: fc.constantFrom('ack' as const, 'alert' as const, 'alert' as const) }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            is: fc.constantFrom(
              'resolve' as const,
              'edit' as const,
              'restart' as const,
              'leave' as const,
              'repeat' as const,
              'end' as const,
            ),
          }),
        },
      ),
      { minLength: 2, maxLength: 9 },
    ),
  })
  .filter((s) => s.repeat === 0 || s.waits.some((w) => w > 0));

/** Between two alerts more than a minute passes: how many pages a minute holds is another story. */
export const beforeAlert = 70;

/** Two things that are due closer to each other than this may come in any order: real seconds pass too while a story is told. */
const closest = 40;

const never = Number.POSITIVE_INFINITY;
const hour = 3_600;

interface Told {
  /** `round.pass.step` for every step that paged somebody. */
  paged: string[];
  notices: number;
  /** How often the silence of the sender was told. */
  silences: number;
  state: string;
}

/** What the specification says, from one thing that is due to the next. Undefined: too much is due at once to say what comes first; silent it must not be all the same. */
export function playModel({ waits, repeat, who, remind, deaf, deeds }: Story): Told | undefined {
  const told: Told = { paged: [], notices: 0, silences: 0, state: 'walking' };
  let clock = 0;
  let round = 0;
  let [due, pass, step, waitedInPass] = [0, 0, 0, 0];
  let by: 'ada' | 'owner' | undefined;
  let isAdaThere = true;
  let remindAt = never;
  /** What fires: when it was last heard of, and when its sender has fallen silent should it say no more. */
  let firing: { heard: number; silentAt: number }[] = [];
  let longestRepeat: number | undefined;
  let isUnclear = false;
  const walk = () => {
    while (told.state === 'walking' && due <= clock) {
      if (step === waits.length) {
        told.state = 'exhausted';
        return;
      }
      const there = who[step] === 'present';
      isUnclear ||= who[step] === 'unreachable' && due < clock; // whether its wait was over before its pages had failed
      if (there) told.paged.push(`${round}.${pass}.${step}`);
      const wait = there ? waits[step]! : 0;
      waitedInPass += wait;
      const wasLast = step === waits.length - 1;
      if (wasLast && pass < repeat) {
        const all = waits.reduce((a, b) => a + b, 0);
        due = clock + (waitedInPass > 0 ? wait : Math.max(60, all));
        pass++;
        step = 0;
        waitedInPass = 0;
      } else {
        due += wait;
        step++;
      }
    }
  };
  const again = () => {
    round++;
    told.state = 'walking';
    [due, pass, step, waitedInPass, remindAt] = [clock, 0, 0, 0, never];
    walk();
  };
  const notice = () => {
    if (by === 'ada' && (deaf || !isAdaThere)) again();
    else told.notices++;
  };
  const hearNews = () => {
    if (told.state === 'exhausted') again();
    else if (told.state === 'acknowledged') notice();
  };
  const look = () => {
    for (const alert of firing.filter((a) => a.silentAt <= clock)) {
      alert.silentAt = never;
      if (told.state !== 'resolved') told.silences++;
      hearNews();
    }
    if (told.state === 'acknowledged' && remindAt <= clock) {
      remindAt = clock + remind;
      notice();
    }
    walk();
  };
  const nextSilence = () => Math.min(never, ...firing.map((a) => a.silentAt));
  const pending = () => [
    told.state === 'walking' ? due : never,
    told.state === 'acknowledged' ? remindAt : never,
    ...(told.state === 'resolved' ? [] : firing.map((a) => a.silentAt)),
  ];
  /** False: something else is due nearly now. */
  const passTo = (then: number): boolean => {
    for (let next = Math.min(...pending()); next <= then; next = Math.min(...pending())) {
      clock = next;
      look();
      if (Math.min(...pending()) - clock < closest) return false;
    }
    clock = then;
    return Math.min(...pending()) - clock >= closest;
  };
  const silentAt = () => clock + (longestRepeat === undefined ? 25 * hour : Math.max(5 * hour, 2 * longestRepeat));
  const hear = (is: 'alert' | 'repeat' | 'end') => {
    if (told.state === 'resolved') return;
    if (is === 'end') firing = [];
    if (is === 'repeat' && firing.length) {
      const pause = Math.max(...firing.map((a) => clock - a.heard));
      firing = firing.map(() => ({ heard: clock, silentAt: silentAt() }));
      longestRepeat = Math.min(Math.max(longestRepeat ?? 0, pause), 48 * hour);
    }
    if (is === 'alert') {
      firing.push({ heard: clock, silentAt: silentAt() });
      hearNews();
    }
  };
  look();
  for (const deed of deeds) {
    if (deed.is === 'away') {
      if (told.state !== 'resolved' && nextSilence() < clock + deed.seconds + closest) return undefined; // what is seen first is chance
      clock += deed.seconds;
      look();
      if (!passTo(clock)) return undefined;
    } else if (!passTo(clock + (deed.is === 'pass' ? deed.seconds : deed.is === 'alert' || deed.is === 'repeat' ? beforeAlert : 0)))
      return undefined;
    if (deed.is === 'ack' && told.state !== 'resolved' && told.state !== 'acknowledged') {
      told.state = 'acknowledged';
      by = isAdaThere ? 'ada' : 'owner';
      remindAt = remind ? clock + remind : never;
    }
    if (deed.is === 'resolve') told.state = 'resolved';
    if (deed.is === 'leave' && isAdaThere) {
      isAdaThere = false;
      if (told.state === 'acknowledged' && by === 'ada') again();
    }
    if (deed.is === 'alert' || deed.is === 'repeat' || deed.is === 'end') hear(deed.is);
  }
  return isUnclear ? undefined : told;
}

/** Every kind of deed and of person at least once, whatever chance brings besides. */
export const fixedStories: Story[] = [
  {
    waits: [1_010, 3_030],
    repeat: 1,
    who: ['present', 'absent', 'present', 'present'],
    remind: 7_000,
    deaf: false,
    deeds: [
      { is: 'pass', seconds: 1_250 },
      { is: 'alert' },
      { is: 'ack' },
      { is: 'pass', seconds: 20_350 },
      { is: 'restart' },
      { is: 'end' },
    ],
  },
  {
    waits: [1_010],
    repeat: 0,
    who: ['present', 'present', 'present', 'present'],
    remind: 0,
    deaf: true,
    deeds: [{ is: 'ack' }, { is: 'alert' }, { is: 'edit' }, { is: 'away', seconds: 350 }, { is: 'repeat' }, { is: 'resolve' }],
  },
  {
    waits: [1_010, 3_030],
    repeat: 0,
    who: ['unreachable', 'present', 'present', 'present'],
    remind: 7_000,
    deaf: false,
    deeds: [{ is: 'alert' }, { is: 'pass', seconds: 92_450 }, { is: 'ack' }, { is: 'leave' }],
  },
];

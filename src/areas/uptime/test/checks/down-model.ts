// The down rule once more, told another way: from the whole history each time instead of step by step, so that both can only agree
// when both are right. Times in seconds.

export interface Settings {
  vantages: string[];
  confirmations: number;
  quorum: number;
  interval: number;
  timeout: number;
}

interface Heard {
  vantage: string;
  at: number;
  passed: boolean;
  /** How many it took to confirm when this was heard. */
  confirmations: number;
  /** For how long a vantage may say nothing before nobody relies on it. */
  patience: number;
  /** Nothing was heard; from here on another number confirms. */
  isEdit?: true;
}

const checks = (words: Heard[]) => words.filter((w) => !w.isEdit);

export interface ModelTransition {
  at: number;
  from: string;
  to: string;
  failing: string[];
}

export class Model {
  settings: Settings;
  epoch = 1;
  enabled = true;
  state = 'pending';
  since: number;
  began: number;
  heard: Heard[] = [];
  transitions: ModelTransition[] = [];
  failures: { vantage: string; attempt: number }[] = [];

  constructor(settings: Settings, now: number) {
    this.settings = settings;
    this.since = now;
    this.began = now;
  }

  report(vantage: string, outcome: string, at: number, now: number, { epoch = this.epoch, degraded = false } = {}) {
    const before = checks(this.wordsOf(vantage)).map((h) => h.at);
    const last = Math.max(...before.slice(-1), Number.NEGATIVE_INFINITY);
    const usable = outcome !== 'missed' && !degraded && this.enabled && epoch === this.epoch && now - at <= 2 * this.settings.interval;
    const inOrder = at > last || last > now + 10;
    if (!usable || !inOrder || !this.settings.vantages.includes(vantage)) return;
    if (!this.beginning(now) && this.settings.vantages.every((v) => !this.fresh(v, now))) this.began = now;
    this.heard.push({ vantage, at, passed: outcome === 'pass', ...this.terms() });
    if (outcome !== 'pass') this.failures.push({ vantage, attempt: this.run(this.wordsOf(vantage), 'F') });
    this.evaluate(at, now);
  }

  wordsOf = (vantage: string) => this.heard.filter((h) => h.vantage === vantage);

  terms = () => ({ confirmations: this.settings.confirmations, patience: 3 * this.settings.interval + this.settings.timeout });

  /** How many of one kind it said last in a row, without a silence among them. */
  run(words: Heard[], letter: 'P' | 'F') {
    let text = '';
    let last: number | undefined;
    for (const { at, patience, passed, isEdit } of words) {
      const silence = last === undefined ? 0 : at - last;
      // Nobody can have spoken in a time that is still to come: the clock was set back, and who knows how long it was.
      if (silence > patience || silence < -10) text += ' ';
      if (isEdit) continue;
      text += passed ? 'P' : 'F';
      last = at;
    }
    return (letter === 'P' ? /P*$/ : /F*$/).exec(text)![0].length;
  }

  verdict(words: Heard[]): string {
    const newest = words.at(-1);
    if (!newest) return 'unknown';
    const earlier = this.verdict(words.slice(0, -1));
    if (newest.isEdit) {
      if (this.run(words, 'F') >= newest.confirmations) return 'failing';
      return earlier === 'failing' && this.run(words, 'P') >= newest.confirmations ? 'passing' : earlier;
    }
    if (newest.passed) return earlier === 'failing' && this.run(words, 'P') < newest.confirmations ? 'failing' : 'passing';
    return this.run(words, 'F') >= newest.confirmations ? 'failing' : earlier;
  }

  fresh(vantage: string, now: number) {
    const last = checks(this.wordsOf(vantage)).at(-1)?.at;
    return last !== undefined && now - last <= 3 * this.settings.interval + this.settings.timeout && last - now <= 10;
  }

  beginning(now: number) {
    const { interval, timeout } = this.settings;
    return this.began - now <= 10 && now - this.began <= interval + timeout + 5;
  }

  evaluate(at: number, now: number) {
    const counting = this.settings.vantages.filter((v) => this.fresh(v, now) || this.beginning(now));
    const opinion = (v: string) => (this.fresh(v, now) ? this.verdict(this.wordsOf(v)) : 'unknown');
    const failing = counting.filter((v) => opinion(v) === 'failing');
    const passing = counting.filter((v) => opinion(v) === 'passing');
    const needed = Math.min(this.settings.quorum, counting.length);
    if (counting.length === 0) return;
    // Up: even if all who have not made up their mind turned against it, it would not be enough.
    const to = failing.length >= needed ? 'down' : counting.length - passing.length < needed ? 'up' : this.state;
    if (to !== this.state) this.become(to, at, to === 'down' ? failing : []);
  }

  become(to: string, at: number, failing: string[] = []) {
    const when = Math.max(at, this.since + 0.001);
    this.transitions.push({ at: when, from: this.state, to, failing });
    this.state = to;
    this.since = when;
  }

  startOver(now: number) {
    this.epoch++;
    this.enabled = true;
    this.stop(now);
    this.heard = [];
  }

  stop(now: number) {
    if (this.state !== 'pending') this.become('pending', now);
    this.began = now;
  }

  edit(change: Partial<Pick<Settings, 'confirmations' | 'quorum' | 'interval'>>, now: number) {
    this.settings = { ...this.settings, ...change };
    if (!this.enabled) return;
    this.began = now;
    for (const vantage of this.settings.vantages) this.heard.push({ vantage, at: now, passed: false, ...this.terms(), isEdit: true });
    this.evaluate(now, now);
  }
}

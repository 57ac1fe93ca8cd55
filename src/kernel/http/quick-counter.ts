import { Counter } from 'prom-client';

/**
 * A Prometheus counter. prom-client's own hashes the labels at every increment, which is expensive for a small request. A series of this
 * one adds to a number, which is collected at the scrape.
 */
export class QuickCounter<Label extends string> extends Counter<Label> {
  readonly #series = new Map<string, Series>();

  /** The series for these label values, in order. */
  series(...values: string[]): Series {
    const key = values.join('\n');
    let series = this.#series.get(key);
    if (!series) {
      series = new Series(values);
      this.#series.set(key, series);
    }
    return series;
  }

  override get() {
    for (const series of this.#series.values()) {
      const pending = series.drain();
      if (pending > 0) this.labels(...series.values).inc(pending);
    }
    return super.get();
  }
}

class Series {
  readonly values: string[];
  #pending = 0;

  constructor(values: string[]) {
    this.values = values;
  }

  count(by = 1): void {
    this.#pending += by;
  }

  drain(): number {
    const pending = this.#pending;
    this.#pending = 0;
    return pending;
  }
}

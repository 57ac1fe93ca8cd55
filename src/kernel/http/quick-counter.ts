import { Counter } from 'prom-client';

/** A counter of Prometheus. prom-client's own hashes the labels whenever it counts, which is dear for a small request; a series of this one
 *  adds to a number, and is told when somebody asks. */
export class QuickCounter<Label extends string> extends Counter<Label> {
  readonly #series = new Map<string, Series>();

  /** What counts for these values of the labels, in their order. */
  series(...values: string[]): Series {
    const place = values.join('\n');
    let series = this.#series.get(place);
    if (!series) {
      series = new Series(values);
      this.#series.set(place, series);
    }
    return series;
  }

  override get() {
    for (const series of this.#series.values()) {
      const untold = series.takeUntold();
      if (untold > 0) this.labels(...series.values).inc(untold);
    }
    return super.get();
  }
}

class Series {
  readonly values: string[];
  #untold = 0;

  constructor(values: string[]) {
    this.values = values;
  }

  count(by = 1): void {
    this.#untold += by;
  }

  takeUntold(): number {
    const untold = this.#untold;
    this.#untold = 0;
    return untold;
  }
}

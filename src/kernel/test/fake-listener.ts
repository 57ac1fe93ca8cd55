import type { Listener } from '../listen.ts';

/** A listener that the test controls. */
export function fakeListener() {
  const channels = new Map<string, ((payload: string) => void)[]>();
  const changes: ((hearing: boolean) => void)[] = [];
  let hearing = true;
  const listener: Listener = {
    get hearing() {
      return hearing;
    },
    on: (channel, hear) => void channels.set(channel, [...(channels.get(channel) ?? []), hear]),
    onChange: (act) => void changes.push(act),
    onReconnect: () => {},
    close: async () => {},
  };
  return {
    listener,
    /** Another process has dropped this topic. */
    drop: (topic: string) => {
      for (const hear of channels.get('qd_drop') ?? []) hear(topic);
    },
    /** In silence: only the clock shows it, and no listener was notified yet. */
    silent: (is: boolean) => {
      hearing = !is;
    },
    become: (now: boolean) => {
      hearing = now;
      for (const act of changes) act(now);
    },
  };
}

/** Something that is known only when the test says so. */
export function later<T>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { promise, resolve, reject };
}

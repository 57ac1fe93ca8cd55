import { type ChannelName, channelNames } from './channels.ts';

/** One of a person's rules: a page by this channel, so long after the step. */
export interface Rule {
  channel: ChannelName;
  delaySeconds: number;
}

/** Until a person says otherwise, and when nothing that they said can be read. */
export const defaultRules: readonly Rule[] = [{ channel: 'email', delaySeconds: 0 }];

/** Rules as they are stored, which another release may have written: those that can be followed, and what is wrong with the others. */
export function readRules(stored: unknown): { rules: Rule[]; broken: string[] } {
  const rules: Rule[] = [];
  const broken: string[] = [];
  for (const given of Array.isArray(stored) ? stored : []) {
    const { channel, delaySeconds } = (given ?? {}) as Partial<Record<keyof Rule, unknown>>;
    if (!channelNames.includes(channel as ChannelName)) broken.push(`the channel ${JSON.stringify(channel)} is not known here`);
    else if (!Number.isInteger(delaySeconds) || (delaySeconds as number) < 0 || (delaySeconds as number) > 86_400)
      broken.push(`the delay ${JSON.stringify(delaySeconds)} is not a number of seconds`);
    else rules.push({ channel: channel as ChannelName, delaySeconds: delaySeconds as number });
  }
  return { rules: rules.length ? rules : [...defaultRules], broken };
}

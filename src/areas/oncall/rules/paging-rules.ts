import { type ChannelName, channelNames } from './channels.ts';

/** One rule of a person: a page by this channel, this long after the step. */
export interface Rule {
  channel: ChannelName;
  delaySeconds: number;
}

/** Used until a person saves rules, and if none of the saved rules is valid. */
export const defaultRules: readonly Rule[] = [{ channel: 'email', delaySeconds: 0 }];

/** Parses stored rules, which another release may have written. Returns the valid ones, and the problems of the others. */
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

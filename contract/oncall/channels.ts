/** By which a person can be paged. What each of them needs stands in src/areas/oncall/rules/channels.ts, which must have an entry for every name. */
export const channelNames = ['email', 'sms', 'voice'] as const;

/** As prose: `email, sms or voice`. */
export const channelsListed = [channelNames.slice(0, -1).join(', '), channelNames.at(-1)].join(' or ');

import type { App } from '../../../../kernel/app.ts';
import type { ChannelName } from '../../rules/channels.ts';
import type { Channel } from './channel.ts';
import { makeEmail } from './email.ts';
import { makeSms } from './sms.ts';
import { makeVoice } from './voice.ts';

export type Channels = Record<ChannelName, Channel>;

/** `publicUrl`: the address for provider callbacks, known once the port is bound. */
export const makeChannels = ({ mail, publicUrl }: Pick<App, 'config' | 'guard' | 'mail' | 'publicUrl'>): Channels => ({
  email: makeEmail(mail),
  sms: makeSms(publicUrl),
  voice: makeVoice(publicUrl),
});

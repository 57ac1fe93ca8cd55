import type { Mail } from '../../../../kernel/mail.ts';
import type { ChannelName } from '../../rules/channels.ts';
import type { Channel } from './channel.ts';
import { makeEmail } from './email.ts';
import { makeSms } from './sms.ts';
import { makeVoice } from './voice.ts';

export type Channels = Record<ChannelName, Channel>;

/** `publicUrl`: the address for provider callbacks, known once the port is bound. */
export const makeChannels = ({ mail, publicUrl }: { mail: Mail; publicUrl: () => string }): Channels => ({
  email: makeEmail(mail),
  sms: makeSms(publicUrl),
  voice: makeVoice(publicUrl),
});

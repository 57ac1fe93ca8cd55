import type { Channel, ChannelName } from './channel.ts';
import { email } from './email.ts';
import { sms } from './sms.ts';
import { voice } from './voice.ts';

export const channels: Record<ChannelName, Channel> = { email, sms, voice };

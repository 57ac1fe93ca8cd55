import { announceResolution, announceUpdate } from './engine/announce.ts';
import { sendConfirmation, sendResolution, sendUpdate } from './engine/mails.ts';

export const jobs = [sendConfirmation, sendUpdate, sendResolution, announceUpdate, announceResolution];

import { sendConfirmation, sendUpdate } from './engine/mails.ts';

export const jobs = [sendConfirmation, sendUpdate];

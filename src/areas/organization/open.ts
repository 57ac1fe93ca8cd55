import type { Payment } from '../../identity/payment.ts';
import type { Host, Opened } from '../area.ts';
import { joinPage } from './planes/join-page.ts';

export interface OpenOrganization {
  payment: Payment;
}

export const openOrganization = ({ app, payment }: Host): Opened<OpenOrganization> => ({
  own: { payment },
  routes: (server) => joinPage(server, app),
});

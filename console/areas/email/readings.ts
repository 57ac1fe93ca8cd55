import { useQuery } from '../../data/query.ts';
import { useMay } from '../../data/rights.ts';

// What several screens of mail name things by.

export const useDomains = () =>
  useQuery({
    key: ['mail domains'],
    kinds: ['email.domain'],
    isOff: !useMay('listDomains'),
    ask: async (client, signal) => (await client.email.listDomains({ signal })).domains,
  });

export const useWebhooks = () =>
  useQuery({
    key: ['webhooks'],
    kinds: ['email.webhook'],
    isOff: !useMay('listWebhooks'),
    ask: async (client, signal) => (await client.email.listWebhooks({ signal })).webhooks,
  });

export const useSettings = () =>
  useQuery({
    key: ['mail settings'],
    kinds: ['email.message'],
    isOff: !useMay('getEmailSettings'),
    ask: (client, signal) => client.email.getEmailSettings({ signal }),
  });

export const nameOf = (things: readonly { id: string; name?: string; url?: string }[] | undefined, id: string): string => {
  const found = things?.find((one) => one.id === id);
  return found?.name ?? found?.url ?? id;
};

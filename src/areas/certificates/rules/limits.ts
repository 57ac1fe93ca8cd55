// What we ask of an authority at most. Let's Encrypt's limits are the model; ours are lower, so that the operator's own orders fit beside them.

const hour = 3_600;
const day = 24 * hour;

/** Recent attempts, as they are counted before an order. */
export interface RecentAttempts {
  /** Of this name: authorizations that failed in the last hour, and certificates issued in the last week. */
  refusedLastHour: number;
  issuedLastWeek: number;
  /** First orders below the registered domain in the last week. */
  firstOrdersLastWeek: number;
  /** Of all names in the last three hours, and of the organization's domains. */
  ordersLastHours: number;
  ownOrdersLastHours: number;
}

export const attemptLimits = {
  refusedLastHour: 4,
  issuedLastWeek: 4,
  firstOrdersLastWeek: 40,
  ordersLastHours: 200,
  ownOrdersLastHours: 30,
};
/** Hosts of the installation are ordered also when domains of pages have used up their part. */
export const maxHostOrdersLastHours = 280;

export interface WantedOrder {
  name: string;
  /** Whose status page it is for; null: a host of the installation. */
  org: string | null;
  registered: string;
  /** The name has no certificate yet. */
  isFirst: boolean;
}

interface UsedUp {
  sentence: string;
  nextInSeconds: number;
}

/** Undefined: an order is within the limits. Else what is used up, and when to look again. */
export function findUsedUp(recent: RecentAttempts, { name, org, registered, isFirst }: WantedOrder): UsedUp | undefined {
  const { refusedLastHour, issuedLastWeek, firstOrdersLastWeek, ordersLastHours, ownOrdersLastHours } = recent;
  const usedUp = (nextInSeconds: number, sentence: string) => ({ sentence, nextInSeconds });
  if (refusedLastHour >= attemptLimits.refusedLastHour)
    return usedUp(hour, `the authority could not verify ${name} ${refusedLastHour} times in the last hour; it is asked again later`);
  if (issuedLastWeek >= attemptLimits.issuedLastWeek)
    return usedUp(day, `${name} got ${issuedLastWeek} certificates in the last seven days, as many as we order`);
  if (isFirst && firstOrdersLastWeek >= attemptLimits.firstOrdersLastWeek)
    return usedUp(
      6 * hour,
      `${firstOrdersLastWeek} new names below ${registered} were ordered in the last seven days, as many as we order; this one waits its turn`,
    );
  if (org !== null && ownOrdersLastHours >= attemptLimits.ownOrdersLastHours)
    return usedUp(
      hour,
      `${ownOrdersLastHours} orders for domains of the organization were made in the last three hours, as many as we make; this one waits its turn`,
    );
  if (ordersLastHours >= (org === null ? maxHostOrdersLastHours : attemptLimits.ordersLastHours))
    return usedUp(hour / 2, `${ordersLastHours} orders were made in the last three hours, as many as we make; this one waits its turn`);
  return undefined;
}

/**
 * The domain by which an authority counts, without its list of public suffixes: a short label below a country's two letters (co.uk, com.au,
 * or.jp) is taken for one. Where that is wrong, names are counted together that the authority counts apart, so an order only waits longer.
 */
export function registeredDomain(name: string): string {
  const labels = name.split('.');
  const [second = '', top = ''] = labels.slice(-2);
  const isSuffix = top.length === 2 && second.length <= 3 && labels.length > 2;
  return labels.slice(isSuffix ? -3 : -2).join('.');
}

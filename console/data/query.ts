import { notifyManager, QueryClient, QueryObserver, type QueryObserverOptions, type QueryObserverResult } from '@tanstack/query-core';
import { useEffect, useState } from 'preact/hooks';
import { type Api, ApiError, apiOf } from './api.ts';
import { deviceNow } from './clock.ts';
import { organization } from './place.ts';

// What screens read. Every answer comes from the guarded API; a hint of the live stream names kinds (`oncall.incident`), and what was read
// of these kinds and is on the screen is asked again.

export interface Asked<T> {
  /** Tells this reading from all others of the organization. */
  key: readonly unknown[];
  /** Kinds of the live stream after which the answer may be another. */
  kinds: readonly string[];
  ask(api: Api, signal: AbortSignal): Promise<T>;
  /** Not asked while something that it needs is missing. */
  isOff?: boolean;
  /** Figures that grow without a hint, such as latencies, are asked for again after this time while the page is seen. */
  refreshSeconds?: number;
  /** Names, and what is on offer: a reconnect asks again for what is older than 5 minutes alone, for it may cost six requests. */
  isSteady?: boolean;
}

const steadyMs = 5 * 60_000;

export interface Reading<T> {
  data: T | undefined;
  error: Error | undefined;
  isLoading: boolean;
  /** Shown while newer data is on its way. */
  isRefreshing: boolean;
  again(): Promise<unknown>;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 5 * 60_000,
      // The SDK repeats what is worth it, after the pause that the server asks for.
      retry: false,
      refetchOnWindowFocus: false,
      refetchOnReconnect: true,
      networkMode: 'always',
    },
  },
});

export function useQuery<T>(asked: Asked<T>): Reading<T> {
  const options = optionsOf(asked);
  const [observer] = useState(() => new QueryObserver<T, Error>(queries, options));
  const [, show] = useState<QueryObserverResult<T, Error>>();
  useEffect(() => observer.subscribe(notifyManager.batchCalls(show)), [observer]);
  const hash = JSON.stringify([options.queryKey, options.enabled]);
  useEffect(() => observer.setOptions(optionsOf(asked)), [observer, hash]);
  const { data, error, isPending, isFetching } = observer.getOptimisticResult(queries.defaultQueryOptions(options));
  return {
    data,
    error: error ?? undefined,
    isLoading: isPending && isFetching,
    isRefreshing: isFetching && !isPending,
    again: () => observer.refetch(),
  };
}

function optionsOf<T>({ key, kinds, ask, isOff = false, refreshSeconds, isSteady = false }: Asked<T>): QueryObserverOptions<T, Error> {
  const slug = organization.value;
  return {
    queryKey: [slug, ...key],
    queryFn: ({ signal }) => ask(apiOf(slug), signal),
    meta: { kinds, isSteady },
    refetchInterval: refreshSeconds ? refreshSeconds * 1_000 : false,
    enabled: !isOff && slug !== '',
  };
}

/** Asks again what is on the screen and hangs on one of these kinds; without kinds, all that is on the screen. */
export function refresh(kinds?: readonly string[]): Promise<void> {
  return queries.invalidateQueries({
    predicate: ({ meta, state }) =>
      kinds
        ? ((meta?.['kinds'] as readonly string[] | undefined) ?? []).some((kind) => kinds.includes(kind))
        : !meta?.['isSteady'] || deviceNow() - state.dataUpdatedAt > steadyMs,
  });
}

/** Gone, or never there: a screen says so instead of offering to try again. */
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

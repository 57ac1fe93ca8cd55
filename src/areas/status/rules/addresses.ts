/** The base address of status pages: their own host if set. Without a trailing slash. */
export const statusBaseUrl = (statusUrl: string, publicUrl: string): string => statusUrl || `${publicUrl}/status`;

export const statusPageUrl = (baseUrl: string, slug: string): string => `${baseUrl}/${slug}`;

/** Cache topic of the page with this slug, also of its absence. */
export const statusPageTopic = (slug: string): string => `status page ${slug}`;

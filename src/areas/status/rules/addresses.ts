/** Below which address the public reads status pages: a host of their own, when there is one. Without a trailing slash. */
export const statusBaseUrl = (statusUrl: string, publicUrl: string): string => statusUrl || `${publicUrl}/status`;

export const statusPageUrl = (baseUrl: string, slug: string): string => `${baseUrl}/${slug}`;

/** What is remembered of the page with this slug is forgotten for this topic; also that there is no such page. */
export const statusPageTopic = (slug: string): string => `status page ${slug}`;

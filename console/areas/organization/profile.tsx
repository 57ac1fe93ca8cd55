import { useRights } from '../../data/rights.ts';
import { Link } from '../../ui/link.tsx';
import { ThingSheet } from '../../ui/thing-sheet.tsx';

/** The organization itself, what the operator enabled for it, and the ways on. */
export default function Profile() {
  const { data: rights } = useRights();
  return (
    <ThingSheet
      title="Organization"
      operation="getOrganization"
      params={[]}
      crumbs={[]}
      acts={[{ operation: 'updateOrganization', label: 'Rename', params: [], input: ({ name }) => ({ name }) }]}
    >
      {() => (
        <>
          <h2>Enabled for it</h2>
          {rights?.entitlements.length ? (
            <ul>
              {rights.entitlements.map((each) => (
                <li key={each}>{each}</li>
              ))}
            </ul>
          ) : (
            <p class="faint">Nothing.</p>
          )}
          <p class="hint">
            The operator of the server changes that: <code>quarterdeck admin entitlements set</code>.
          </p>
          <p class="buttons">
            <Link class="button plain" to="/organization/contacts">
              Contacts
            </Link>
            <Link class="button plain" to="/organization/security">
              Security policy
            </Link>
          </p>
        </>
      )}
    </ThingSheet>
  );
}

// Code generated from signing.rego by make generate. DO NOT EDIT.

package signing

import "github.com/open-policy-agent/opa/v1/ir"

var planned = &ir.Policy{Static: &ir.Static{Strings: []*ir.StringConst{
	{Value: "^term1"},
	{Value: "csr"},
	{Value: "error"},
	{},
	{Value: "0"},
	{Value: "…"},
	{Value: "300"},
	{Value: "the certificate request cannot be read: %s"},
	{Value: "there is no certificate request"},
	{Value: "attributes"},
	{Value: "certname"},
	{Value: "subject"},
	{Value: "names"},
	{Value: "20"},
	{Value: "value"},
	{Value: "dnsNames"},
	{Value: "uris"},
	{Value: "emails"},
	{Value: "extensions"},
	{Value: "ipAddresses"},
	{Value: "otherSans"},
	{Value: "usages"},
	{Value: "characters in its certname"},
	{Value: "characters in its subject"},
	{Value: "characters in subjectAltName"},
	{Value: "names in its subject"},
	{Value: "names in subjectAltName"},
	{Value: "100"},
	{Value: "253"},
	{Value: "1000"},
	{Value: "4000"},
	{Value: "the certificate request is too large: it has %d %s, and at most %d are reviewed"},
	{Value: "^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\\.[a-z0-9_-]*[a-z0-9_])*$"},
	{Value: "certname %q: a certname has at most 253 of a-z, 0-9, dot, hyphen and underscore, begins with no punctuation, and none of its parts between dots is empty or ends with a hyphen"},
	{Value: "name"},
	{Value: "CN"},
	{Value: "%q"},
	{Value: "5"},
	{Value: ", "},
	{Value: " and %d more"},
	{Value: "the subject has the common names [%s], not the certname %q alone"},
	{Value: "the subject has %s in addition to its common name, which the CA would drop"},
	{Value: "signatureValid"},
	{Value: "its signature is not made by the key that it asks a certificate for"},
	{Value: "publicKey"},
	{Value: "type"},
	{Value: "RSA"},
	{Value: "bits"},
	{Value: "2048"},
	{Value: "8192"},
	{Value: "exponent"},
	{Value: "65537"},
	{Value: "ECDSA"},
	{Value: "256"},
	{Value: "384"},
	{Value: "521"},
	{Value: "of a kind that is not known"},
	{Value: "%s of %d bits"},
	{Value: "%s with exponent %d"},
	{Value: "its key is %s; keys are RSA of 2048 to 8192 bits with an exponent of at least 65537, or ECDSA on P-256, P-384 or P-521"},
	{Value: "isCA"},
	{Value: "it asks for a CA certificate (basicConstraints)"},
	{Value: "cert sign"},
	{Value: "crl sign"},
	{Value: "ocsp signing"},
	{Value: "it asks for the usage %q, which is a CA's"},
	{Value: "attribute"},
	{Value: "extension"},
	{Value: "oid"},
	{Value: "1"},
	{Value: "%s %s stands twice"},
	{Value: "msExtReq"},
	{Value: "attribute msExtReq is not accepted; ask for extensions by extensionRequest"},
	{Value: "subjectAltName"},
	{Value: "1.3.6.1.4.1.34380.1.1."},
	{Value: "1.3.6.1.4.1.34380.1.2."},
	{Value: "1.3.6.1.4.1.34380.1.3."},
	{Value: "extension %s is neither subjectAltName nor Puppet's, and a Puppet CA signs no request with it; leave it out of the request"},
	{Value: "extension %s is not an ASN.1 text"},
	{Value: "pp_cli_auth"},
	{Value: "extension pp_cli_auth makes an administrator of the CA, and is never signed on request"},
	{Value: "254"},
	{Value: "^[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\\.?$"},
	{Value: "^[0-9.]+$"},
	{Value: "DNS name %q in subjectAltName is not a host name; wildcards, addresses and names that are not encoded in ASCII are not accepted"},
	{Value: "."},
	{Value: "reserved"},
	{Value: "certname %q is reserved: the CA, its operator or a Certificate has it"},
	{Value: "DNS name %q in subjectAltName is reserved: the CA, its operator or a Certificate has it"},
	{Value: "policies"},
	{Value: "there is no signing policy"},
	{Value: "any"},
	{Value: "csrAttributes"},
	{Value: "extension %s gives rights, and no signing policy names it in csrAttributes"},
	{Value: "IP address"},
	{Value: "URI"},
	{Value: "e-mail address"},
	{Value: "name of another type"},
	{Value: "%s %s in subjectAltName is asked for, and signing policies permit DNS names only"},
	{Value: "pattern"},
	{Value: "allow"},
	{Value: "[?\\[]|\\*[^\\n]*\\*"},
	{Value: "/"},
	{Value: "*"},
	{Value: "\n"},
	{Value: "["},
	{Value: "$"},
	{Value: "\\$"},
	{Value: "("},
	{Value: "\\("},
	{Value: ")"},
	{Value: "\\)"},
	{Value: "[^/\\n\\r]*"},
	{Value: "+"},
	{Value: "\\+"},
	{Value: "\\."},
	{Value: "?"},
	{Value: "[^/\\n\\r]"},
	{Value: "[^"},
	{Value: "[^\\n\\r"},
	{Value: "{"},
	{Value: "\\{"},
	{Value: "|"},
	{Value: "\\|"},
	{Value: "}"},
	{Value: "\\}"},
	{Value: "\\"},
	{Value: "\\\\"},
	{Value: "]"},
	{Value: "\\]"},
	{Value: "^"},
	{Value: "\\^"},
	{Value: "^[^\\[\\]\\\\^]+$"},
	{Value: "^(?:[^\\[\\]\\\\^]|\\[\\^?(?:[A-Za-z0-9._](?:-[A-Za-z0-9._])?)+\\])+$"},
	{Value: "^(?:"},
	{Value: ")$"},
	{Value: "dnsAltNames"},
	{Value: "\r"},
	{Value: "1500"},
	{Value: "\n(?:"},
	{Value: ")\r"},
	{Value: "-1"},
	{Value: "signing policy %s: "},
	{Value: "signing policies %s: "},
	{Value: "%s%s"},
	{Value: "12"},
	{Value: "it cannot be used: %s"},
	{Value: "it has neither pattern nor csrAttributes, and so signs nothing"},
	{Value: "missing"},
	{Value: "not the required value"},
	{Value: "%s is %s"},
	{Value: "DNS names in subjectAltName (%s) are asked for, and it has no dnsAltNames"},
	{Value: "\\n[^\\n\\r]*\\r"},
	{Value: "\n\r"},
	{Value: "subjectAltName has DNS names (%s) that match none of its dnsAltNames (%s)"},
	{Value: "extension %s gives rights, and it does not name that in csrAttributes"},
	{Value: "signing policy %q: %s"},
	{Value: "signing policy %q: certname %q matches none of its patterns (%s)"},
	{Value: "… and %d more reasons"},
}, Files: []*ir.StringConst{
	{Value: "signing.rego"},
}}, Plans: &ir.Plans{Plans: []*ir.Plan{
	{Name: "eval", Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.CallStmt{Func: "g0.data.openvox.signing.refusals", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 2},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(2)}, Target: 3},
			&ir.MakeObjectStmt{Target: 4},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(0)}, Value: ir.Operand{Value: ir.Local(3)}, Object: 4},
			&ir.ResultSetAddStmt{Value: 4},
		}},
	}},
}}, Funcs: &ir.Funcs{Funcs: []*ir.Func{
	{Name: "g0.data.openvox.signing.ellipsis", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 69}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 1, Row: 69}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Bool(false)}, Value: ir.Operand{Value: ir.StringIndex(3)}, Object: 4, Location: ir.Location{Col: 1, Row: 69}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Bool(true)}, Value: ir.Operand{Value: ir.StringIndex(5)}, Object: 4, Location: ir.Location{Col: 1, Row: 69}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 3, Location: ir.Location{Col: 1, Row: 69}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 69}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 69}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 69}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"ellipsis",
	}},
	{Name: "g0.data.openvox.signing.cut", Params: []ir.Local{
		0,
		1,
		3,
		4,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 67}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 8, Location: ir.Location{Col: 34, Row: 67}},
			&ir.CallStmt{Func: "substring", Args: []ir.Operand{
				{Value: ir.Local(6)},
				{Value: ir.Local(8)},
				{Value: ir.Local(7)},
			}, Result: 9, Location: ir.Location{Col: 34, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 34, Row: 67}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(6)},
			}, Result: 11, Location: ir.Location{Col: 71, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 71, Row: 67}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(12)},
				{Value: ir.Local(7)},
			}, Result: 13, Location: ir.Location{Col: 71, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 71, Row: 67}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.ellipsis", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 15, Location: ir.Location{Col: 62, Row: 67}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(15)}, Key: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 62, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 62, Row: 67}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 18, Location: ir.Location{Col: 22, Row: 67}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(10)}, Array: 18, Location: ir.Location{Col: 22, Row: 67}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(17)}, Array: 18, Location: ir.Location{Col: 22, Row: 67}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(18)},
			}, Result: 19, Location: ir.Location{Col: 22, Row: 67}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 22, Row: 67}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 5, Location: ir.Location{Col: 1, Row: 67}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 67}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 67}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 67}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"cut",
	}},
	{Name: "g0.data.openvox.signing.amounts", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 53}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 4, Location: ir.Location{Col: 65, Row: 59}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(9)}, Target: 5, Location: ir.Location{Col: 65, Row: 59}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 65, Row: 59}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 59, Row: 59}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 59, Row: 59}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 9, Location: ir.Location{Col: 38, Row: 54}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 38, Row: 54}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 32, Row: 54}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 32, Row: 54}},
			&ir.MakeArrayStmt{Target: 13, Location: ir.Location{Col: 48, Row: 56}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 14, Location: ir.Location{Col: 87, Row: 56}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(14)}, Key: ir.Operand{Value: ir.StringIndex(11)}, Target: 15, Location: ir.Location{Col: 87, Row: 56}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(15)}, Key: ir.Operand{Value: ir.StringIndex(12)}, Target: 16, Location: ir.Location{Col: 87, Row: 56}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 87, Row: 56}},
					&ir.MakeNumberRefStmt{Index: 4, Target: 18, Location: ir.Location{Col: 75, Row: 56}},
					&ir.MakeNumberRefStmt{Index: 13, Target: 19, Location: ir.Location{Col: 75, Row: 56}},
					&ir.CallStmt{Func: "array.slice", Args: []ir.Operand{
						{Value: ir.Local(17)},
						{Value: ir.Local(18)},
						{Value: ir.Local(19)},
					}, Result: 20, Location: ir.Location{Col: 75, Row: 56}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 75, Row: 56}},
					&ir.ScanStmt{Source: 21, Key: 22, Value: 23, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 24, Location: ir.Location{Col: 62, Row: 56}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 25, Location: ir.Location{Col: 62, Row: 56}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(25)}, Key: ir.Operand{Value: ir.StringIndex(14)}, Target: 26, Location: ir.Location{Col: 49, Row: 56}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 27, Location: ir.Location{Col: 49, Row: 56}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(27)}, Array: 13, Location: ir.Location{Col: 48, Row: 56}},
					}}, Location: ir.Location{Col: 62, Row: 56}},
				}},
			}, Location: ir.Location{Col: 48, Row: 56}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 28, Location: ir.Location{Col: 48, Row: 56}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(28)},
			}, Result: 29, Location: ir.Location{Col: 37, Row: 56}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(29)}, Target: 30, Location: ir.Location{Col: 37, Row: 56}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(30)},
			}, Result: 31, Location: ir.Location{Col: 31, Row: 56}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(31)}, Target: 32, Location: ir.Location{Col: 31, Row: 56}},
			&ir.MakeArrayStmt{Target: 33, Location: ir.Location{Col: 38, Row: 58}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 34, Location: ir.Location{Col: 81, Row: 58}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(34)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 35, Location: ir.Location{Col: 81, Row: 58}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(35)}, Target: 36, Location: ir.Location{Col: 81, Row: 58}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 37, Location: ir.Location{Col: 101, Row: 58}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(37)}, Key: ir.Operand{Value: ir.StringIndex(16)}, Target: 38, Location: ir.Location{Col: 101, Row: 58}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(38)}, Target: 39, Location: ir.Location{Col: 101, Row: 58}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 40, Location: ir.Location{Col: 117, Row: 58}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(40)}, Key: ir.Operand{Value: ir.StringIndex(17)}, Target: 41, Location: ir.Location{Col: 117, Row: 58}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(41)}, Target: 42, Location: ir.Location{Col: 117, Row: 58}},
					&ir.MakeArrayStmt{Capacity: 3, Target: 43, Location: ir.Location{Col: 80, Row: 58}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(36)}, Array: 43, Location: ir.Location{Col: 80, Row: 58}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(39)}, Array: 43, Location: ir.Location{Col: 80, Row: 58}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(42)}, Array: 43, Location: ir.Location{Col: 80, Row: 58}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(43)}, Target: 44, Location: ir.Location{Col: 80, Row: 58}},
					&ir.ScanStmt{Source: 44, Key: 45, Value: 46, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(45)}, Target: 47, Location: ir.Location{Col: 66, Row: 58}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(46)}, Target: 48, Location: ir.Location{Col: 66, Row: 58}},
						&ir.CallStmt{Func: "concat", Args: []ir.Operand{
							{Value: ir.StringIndex(3)},
							{Value: ir.Local(48)},
						}, Result: 49, Location: ir.Location{Col: 45, Row: 58}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(49)}, Target: 50, Location: ir.Location{Col: 45, Row: 58}},
						&ir.CallStmt{Func: "count", Args: []ir.Operand{
							{Value: ir.Local(50)},
						}, Result: 51, Location: ir.Location{Col: 39, Row: 58}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(51)}, Target: 52, Location: ir.Location{Col: 39, Row: 58}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(52)}, Array: 33, Location: ir.Location{Col: 38, Row: 58}},
					}}, Location: ir.Location{Col: 66, Row: 58}},
				}},
			}, Location: ir.Location{Col: 38, Row: 58}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(33)}, Target: 53, Location: ir.Location{Col: 38, Row: 58}},
			&ir.CallStmt{Func: "sum", Args: []ir.Operand{
				{Value: ir.Local(53)},
			}, Result: 54, Location: ir.Location{Col: 34, Row: 58}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(54)}, Target: 55, Location: ir.Location{Col: 34, Row: 58}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 56, Location: ir.Location{Col: 22, Row: 59}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(56)}, Key: ir.Operand{Value: ir.StringIndex(18)}, Target: 57, Location: ir.Location{Col: 22, Row: 59}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(57)}, Target: 58, Location: ir.Location{Col: 22, Row: 59}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(58)},
			}, Result: 59, Location: ir.Location{Col: 16, Row: 59}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(59)}, Target: 60, Location: ir.Location{Col: 16, Row: 59}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 61, Location: ir.Location{Col: 32, Row: 55}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(61)}, Key: ir.Operand{Value: ir.StringIndex(11)}, Target: 62, Location: ir.Location{Col: 32, Row: 55}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(62)}, Key: ir.Operand{Value: ir.StringIndex(12)}, Target: 63, Location: ir.Location{Col: 32, Row: 55}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(63)}, Target: 64, Location: ir.Location{Col: 32, Row: 55}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(64)},
			}, Result: 65, Location: ir.Location{Col: 26, Row: 55}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(65)}, Target: 66, Location: ir.Location{Col: 26, Row: 55}},
			&ir.MakeArrayStmt{Target: 67, Location: ir.Location{Col: 33, Row: 57}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 68, Location: ir.Location{Col: 64, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(68)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 69, Location: ir.Location{Col: 64, Row: 57}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(69)}, Target: 70, Location: ir.Location{Col: 64, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 71, Location: ir.Location{Col: 84, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(71)}, Key: ir.Operand{Value: ir.StringIndex(19)}, Target: 72, Location: ir.Location{Col: 84, Row: 57}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(72)}, Target: 73, Location: ir.Location{Col: 84, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 74, Location: ir.Location{Col: 107, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(74)}, Key: ir.Operand{Value: ir.StringIndex(16)}, Target: 75, Location: ir.Location{Col: 107, Row: 57}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(75)}, Target: 76, Location: ir.Location{Col: 107, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 77, Location: ir.Location{Col: 123, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(77)}, Key: ir.Operand{Value: ir.StringIndex(17)}, Target: 78, Location: ir.Location{Col: 123, Row: 57}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(78)}, Target: 79, Location: ir.Location{Col: 123, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 80, Location: ir.Location{Col: 141, Row: 57}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(80)}, Key: ir.Operand{Value: ir.StringIndex(20)}, Target: 81, Location: ir.Location{Col: 141, Row: 57}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(81)}, Target: 82, Location: ir.Location{Col: 141, Row: 57}},
					&ir.MakeArrayStmt{Capacity: 5, Target: 83, Location: ir.Location{Col: 63, Row: 57}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(70)}, Array: 83, Location: ir.Location{Col: 63, Row: 57}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(73)}, Array: 83, Location: ir.Location{Col: 63, Row: 57}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(76)}, Array: 83, Location: ir.Location{Col: 63, Row: 57}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(79)}, Array: 83, Location: ir.Location{Col: 63, Row: 57}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(82)}, Array: 83, Location: ir.Location{Col: 63, Row: 57}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(83)}, Target: 84, Location: ir.Location{Col: 63, Row: 57}},
					&ir.ScanStmt{Source: 84, Key: 85, Value: 86, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(85)}, Target: 87, Location: ir.Location{Col: 49, Row: 57}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(86)}, Target: 88, Location: ir.Location{Col: 49, Row: 57}},
						&ir.CallStmt{Func: "count", Args: []ir.Operand{
							{Value: ir.Local(88)},
						}, Result: 89, Location: ir.Location{Col: 34, Row: 57}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(89)}, Target: 90, Location: ir.Location{Col: 34, Row: 57}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(90)}, Array: 67, Location: ir.Location{Col: 33, Row: 57}},
					}}, Location: ir.Location{Col: 49, Row: 57}},
				}},
			}, Location: ir.Location{Col: 33, Row: 57}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(67)}, Target: 91, Location: ir.Location{Col: 33, Row: 57}},
			&ir.CallStmt{Func: "sum", Args: []ir.Operand{
				{Value: ir.Local(91)},
			}, Result: 92, Location: ir.Location{Col: 29, Row: 57}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(92)}, Target: 93, Location: ir.Location{Col: 29, Row: 57}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 94, Location: ir.Location{Col: 104, Row: 59}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(94)}, Key: ir.Operand{Value: ir.StringIndex(21)}, Target: 95, Location: ir.Location{Col: 104, Row: 59}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(95)}, Target: 96, Location: ir.Location{Col: 104, Row: 59}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(96)},
			}, Result: 97, Location: ir.Location{Col: 98, Row: 59}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(97)}, Target: 98, Location: ir.Location{Col: 98, Row: 59}},
			&ir.MakeObjectStmt{Target: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(9)}, Value: ir.Operand{Value: ir.Local(8)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(22)}, Value: ir.Operand{Value: ir.Local(12)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(23)}, Value: ir.Operand{Value: ir.Local(32)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(24)}, Value: ir.Operand{Value: ir.Local(55)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(18)}, Value: ir.Operand{Value: ir.Local(60)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(25)}, Value: ir.Operand{Value: ir.Local(66)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(26)}, Value: ir.Operand{Value: ir.Local(93)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(21)}, Value: ir.Operand{Value: ir.Local(98)}, Object: 99, Location: ir.Location{Col: 1, Row: 53}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(99)}, Target: 3, Location: ir.Location{Col: 1, Row: 53}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 53}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 53}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 53}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"amounts",
	}},
	{Name: "g0.data.openvox.signing.most", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 27, Target: 5, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(9)}, Value: ir.Operand{Value: ir.Local(5)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 28, Target: 6, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(22)}, Value: ir.Operand{Value: ir.Local(6)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 29, Target: 7, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(23)}, Value: ir.Operand{Value: ir.Local(7)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 30, Target: 8, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(24)}, Value: ir.Operand{Value: ir.Local(8)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 27, Target: 9, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(18)}, Value: ir.Operand{Value: ir.Local(9)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 13, Target: 10, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(25)}, Value: ir.Operand{Value: ir.Local(10)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 27, Target: 11, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(26)}, Value: ir.Operand{Value: ir.Local(11)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.MakeNumberRefStmt{Index: 27, Target: 12, Location: ir.Location{Col: 1, Row: 47}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(21)}, Value: ir.Operand{Value: ir.Local(12)}, Object: 4, Location: ir.Location{Col: 1, Row: 47}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 3, Location: ir.Location{Col: 1, Row: 47}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 47}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 47}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 47}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"most",
	}},
	{Name: "g0.data.openvox.signing.excess", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeObjectStmt{Target: 2, Location: ir.Location{Col: 1, Row: 62}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 62}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.amounts", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 63}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 63}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 63}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.most", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 9, Location: ir.Location{Col: 11, Row: 64}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 10, Location: ir.Location{Col: 11, Row: 64}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 11, Row: 64}},
				&ir.CallStmt{Func: "gt", Args: []ir.Operand{
					{Value: ir.Local(8)},
					{Value: ir.Local(11)},
				}, Result: 12, Location: ir.Location{Col: 2, Row: 64}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(12)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 64}},
				&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(8)}, Object: 2, Location: ir.Location{Col: 1, Row: 62}},
			}}, Location: ir.Location{Col: 2, Row: 63}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 62}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"excess",
	}},
	{Name: "g0.data.openvox.signing.csr", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 12}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 4, Location: ir.Location{Col: 13, Row: 13}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 13, Row: 13}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(2)},
				{Value: ir.StringIndex(3)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 13}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 13}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.StringIndex(3)}, Location: ir.Location{Col: 2, Row: 13}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.excess", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 8, Row: 14}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 8, Row: 14}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 2, Row: 14}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 2, Row: 14}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 12, Location: ir.Location{Col: 2, Row: 14}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Local(12)}, Location: ir.Location{Col: 2, Row: 14}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 13, Location: ir.Location{Col: 8, Row: 12}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 8, Row: 12}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 3, Location: ir.Location{Col: 1, Row: 12}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 12}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 12}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 12}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"csr",
	}},
	{Name: "g0.data.openvox.signing.name_pattern", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 127}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(32)}, Target: 3, Location: ir.Location{Col: 1, Row: 127}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 127}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 127}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 127}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"name_pattern",
	}},
	{Name: "g0.data.openvox.signing.storable", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 139}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 139}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 140}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 140}},
			&ir.MakeNumberRefStmt{Index: 28, Target: 8, Location: ir.Location{Col: 2, Row: 140}},
			&ir.CallStmt{Func: "lte", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 2, Row: 140}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 140}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.name_pattern", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 14, Row: 141}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 14, Row: 141}},
			&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
				{Value: ir.Local(11)},
				{Value: ir.Local(5)},
			}, Result: 12, Location: ir.Location{Col: 2, Row: 141}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(12)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 141}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 139}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 139}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 139}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 139}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"storable",
	}},
	{Name: "g0.data.openvox.signing.quoted", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 82}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 82}},
			&ir.MakeArrayStmt{Target: 6, Location: ir.Location{Col: 18, Row: 82}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.ScanStmt{Source: 5, Key: 7, Value: 8, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 43, Row: 82}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 43, Row: 82}},
						&ir.MakeArrayStmt{Capacity: 1, Target: 11, Location: ir.Location{Col: 19, Row: 82}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(10)}, Array: 11, Location: ir.Location{Col: 19, Row: 82}},
						&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
							{Value: ir.StringIndex(36)},
							{Value: ir.Local(11)},
						}, Result: 12, Location: ir.Location{Col: 19, Row: 82}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 19, Row: 82}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(13)}, Array: 6, Location: ir.Location{Col: 18, Row: 82}},
					}}, Location: ir.Location{Col: 43, Row: 82}},
				}},
			}, Location: ir.Location{Col: 18, Row: 82}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 14, Location: ir.Location{Col: 18, Row: 82}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 4, Location: ir.Location{Col: 1, Row: 82}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 82}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 82}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 82}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"quoted",
	}},
	{Name: "g0.data.openvox.signing.brief", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 71}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 71}},
			&ir.MakeNumberRefStmt{Index: 27, Target: 6, Location: ir.Location{Col: 16, Row: 71}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.cut", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 16, Row: 71}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 16, Row: 71}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 4, Location: ir.Location{Col: 1, Row: 71}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 71}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 71}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 71}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"brief",
	}},
	{Name: "g0.data.openvox.signing.further", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 78}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 78}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 6, Location: ir.Location{Col: 26, Row: 78}},
			&ir.CallStmt{Func: "lte", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 26, Row: 78}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 26, Row: 78}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(3)}, Target: 4, Location: ir.Location{Col: 1, Row: 78}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 78}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 78}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 80}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 80}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 6, Location: ir.Location{Col: 57, Row: 80}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 57, Row: 80}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 57, Row: 80}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 8, Location: ir.Location{Col: 20, Row: 80}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(5)}, Array: 8, Location: ir.Location{Col: 20, Row: 80}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(39)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 20, Row: 80}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 20, Row: 80}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 4, Location: ir.Location{Col: 1, Row: 80}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 80}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 80}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 78}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"further",
	}},
	{Name: "g0.data.openvox.signing.beginning", Params: []ir.Local{
		0,
		1,
		3,
		4,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 76}},
			&ir.MakeArrayStmt{Target: 8, Location: ir.Location{Col: 54, Row: 76}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.ScanStmt{Source: 6, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 69, Row: 76}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 69, Row: 76}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(12)},
						}, Result: 13, Location: ir.Location{Col: 55, Row: 76}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 55, Row: 76}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(14)}, Array: 8, Location: ir.Location{Col: 54, Row: 76}},
					}}, Location: ir.Location{Col: 69, Row: 76}},
				}},
			}, Location: ir.Location{Col: 54, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 15, Location: ir.Location{Col: 54, Row: 76}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(38)},
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 41, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 41, Row: 76}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(6)},
			}, Result: 18, Location: ir.Location{Col: 108, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 108, Row: 76}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(19)},
			}, Result: 20, Location: ir.Location{Col: 99, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 99, Row: 76}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.further", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(21)},
			}, Result: 22, Location: ir.Location{Col: 91, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 91, Row: 76}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 24, Location: ir.Location{Col: 29, Row: 76}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(17)}, Array: 24, Location: ir.Location{Col: 29, Row: 76}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(23)}, Array: 24, Location: ir.Location{Col: 29, Row: 76}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(24)},
			}, Result: 25, Location: ir.Location{Col: 29, Row: 76}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 26, Location: ir.Location{Col: 29, Row: 76}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 5, Location: ir.Location{Col: 1, Row: 76}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 76}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 76}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 76}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"beginning",
	}},
	{Name: "g0.data.openvox.signing.listed", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 73}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 73}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 6, Location: ir.Location{Col: 28, Row: 73}},
			&ir.MakeNumberRefStmt{Index: 37, Target: 7, Location: ir.Location{Col: 28, Row: 73}},
			&ir.CallStmt{Func: "array.slice", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(6)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 28, Row: 73}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 28, Row: 73}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 10, Location: ir.Location{Col: 54, Row: 73}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 54, Row: 73}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.beginning", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(9)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 18, Row: 73}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 18, Row: 73}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 4, Location: ir.Location{Col: 1, Row: 73}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 73}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 73}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 73}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"listed",
	}},
	{Name: "g0.data.openvox.signing.acceptable", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 168}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 168}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 6, Location: ir.Location{Col: 2, Row: 169}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.StringIndex(46)}, Location: ir.Location{Col: 2, Row: 169}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(47)}, Target: 7, Location: ir.Location{Col: 2, Row: 170}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 2, Row: 170}},
			&ir.MakeNumberRefStmt{Index: 48, Target: 9, Location: ir.Location{Col: 2, Row: 170}},
			&ir.CallStmt{Func: "gte", Args: []ir.Operand{
				{Value: ir.Local(8)},
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 2, Row: 170}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 170}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(47)}, Target: 11, Location: ir.Location{Col: 2, Row: 171}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 2, Row: 171}},
			&ir.MakeNumberRefStmt{Index: 49, Target: 13, Location: ir.Location{Col: 2, Row: 171}},
			&ir.CallStmt{Func: "lte", Args: []ir.Operand{
				{Value: ir.Local(12)},
				{Value: ir.Local(13)},
			}, Result: 14, Location: ir.Location{Col: 2, Row: 171}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 171}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(50)}, Target: 15, Location: ir.Location{Col: 2, Row: 172}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 2, Row: 172}},
			&ir.MakeNumberRefStmt{Index: 51, Target: 17, Location: ir.Location{Col: 2, Row: 172}},
			&ir.CallStmt{Func: "gte", Args: []ir.Operand{
				{Value: ir.Local(16)},
				{Value: ir.Local(17)},
			}, Result: 18, Location: ir.Location{Col: 2, Row: 172}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 172}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 168}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 168}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 168}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 175}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 175}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 6, Location: ir.Location{Col: 2, Row: 176}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.StringIndex(52)}, Location: ir.Location{Col: 2, Row: 176}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(47)}, Target: 7, Location: ir.Location{Col: 2, Row: 177}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 2, Row: 177}},
			&ir.MakeSetStmt{Target: 9, Location: ir.Location{Col: 2, Row: 177}},
			&ir.MakeNumberRefStmt{Index: 53, Target: 10, Location: ir.Location{Col: 2, Row: 177}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(10)}, Set: 9, Location: ir.Location{Col: 2, Row: 177}},
			&ir.MakeNumberRefStmt{Index: 54, Target: 11, Location: ir.Location{Col: 2, Row: 177}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(11)}, Set: 9, Location: ir.Location{Col: 2, Row: 177}},
			&ir.MakeNumberRefStmt{Index: 55, Target: 12, Location: ir.Location{Col: 2, Row: 177}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(12)}, Set: 9, Location: ir.Location{Col: 2, Row: 177}},
			&ir.CallStmt{Func: "internal.member_2", Args: []ir.Operand{
				{Value: ir.Local(8)},
				{Value: ir.Local(9)},
			}, Result: 13, Location: ir.Location{Col: 2, Row: 177}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(13)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 177}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 175}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 175}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 175}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 168}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"acceptable",
	}},
	{Name: "g0.data.openvox.signing.describe", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 180}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 180}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 6, Location: ir.Location{Col: 51, Row: 180}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.StringIndex(3)}, Location: ir.Location{Col: 51, Row: 180}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(56)}, Target: 4, Location: ir.Location{Col: 1, Row: 180}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 180}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 180}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 182}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 182}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 6, Location: ir.Location{Col: 2, Row: 183}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 183}},
			&ir.CallStmt{Func: "neq", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.StringIndex(3)},
			}, Result: 8, Location: ir.Location{Col: 2, Row: 183}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 183}},
			&ir.MakeNumberRefStmt{Index: 51, Target: 9, Location: ir.Location{Col: 2, Row: 184}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(50)},
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 2, Row: 184}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 2, Row: 184}},
			&ir.MakeNumberRefStmt{Index: 51, Target: 12, Location: ir.Location{Col: 2, Row: 184}},
			&ir.CallStmt{Func: "gte", Args: []ir.Operand{
				{Value: ir.Local(11)},
				{Value: ir.Local(12)},
			}, Result: 13, Location: ir.Location{Col: 2, Row: 184}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(13)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 184}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 14, Location: ir.Location{Col: 44, Row: 182}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 44, Row: 182}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(47)}, Target: 16, Location: ir.Location{Col: 54, Row: 182}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 54, Row: 182}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 18, Location: ir.Location{Col: 18, Row: 182}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(15)}, Array: 18, Location: ir.Location{Col: 18, Row: 182}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(17)}, Array: 18, Location: ir.Location{Col: 18, Row: 182}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(57)},
				{Value: ir.Local(18)},
			}, Result: 19, Location: ir.Location{Col: 18, Row: 182}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 18, Row: 182}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 4, Location: ir.Location{Col: 1, Row: 182}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 182}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 182}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 187}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 187}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(50)}, Target: 6, Location: ir.Location{Col: 78, Row: 187}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 78, Row: 187}},
			&ir.MakeNumberRefStmt{Index: 51, Target: 8, Location: ir.Location{Col: 78, Row: 187}},
			&ir.CallStmt{Func: "lt", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 78, Row: 187}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 78, Row: 187}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 10, Location: ir.Location{Col: 50, Row: 187}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 50, Row: 187}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(50)}, Target: 12, Location: ir.Location{Col: 60, Row: 187}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 60, Row: 187}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 14, Location: ir.Location{Col: 18, Row: 187}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(11)}, Array: 14, Location: ir.Location{Col: 18, Row: 187}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(13)}, Array: 14, Location: ir.Location{Col: 18, Row: 187}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(58)},
				{Value: ir.Local(14)},
			}, Result: 15, Location: ir.Location{Col: 18, Row: 187}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 18, Row: 187}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 4, Location: ir.Location{Col: 1, Row: 187}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 187}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 187}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 180}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"describe",
	}},
	{Name: "g0.data.openvox.signing.requested", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 205}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 57, Row: 205}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(9)}, Target: 5, Location: ir.Location{Col: 57, Row: 205}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 57, Row: 205}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 7, Location: ir.Location{Col: 28, Row: 205}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(18)}, Target: 8, Location: ir.Location{Col: 28, Row: 205}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 28, Row: 205}},
			&ir.MakeObjectStmt{Target: 10, Location: ir.Location{Col: 14, Row: 205}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(66)}, Value: ir.Operand{Value: ir.Local(6)}, Object: 10, Location: ir.Location{Col: 14, Row: 205}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(67)}, Value: ir.Operand{Value: ir.Local(9)}, Object: 10, Location: ir.Location{Col: 14, Row: 205}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 14, Row: 205}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 3, Location: ir.Location{Col: 1, Row: 205}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 205}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 205}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 205}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"requested",
	}},
	{Name: "g0.data.openvox.signing.standing", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeObjectStmt{Target: 2, Location: ir.Location{Col: 1, Row: 207}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 207}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.requested", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 208}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 208}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 208}},
				&ir.ScanStmt{Source: 8, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 2, Row: 209}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 209}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 13, Location: ir.Location{Col: 16, Row: 207}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 16, Row: 207}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 15, Location: ir.Location{Col: 1, Row: 207}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 207}},
								}},
							}},
							&ir.MakeObjectStmt{Target: 15},
						}},
					}, Location: ir.Location{Col: 1, Row: 207}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(15)}, Key: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 1, Row: 207}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 207}},
								}},
							}},
							&ir.MakeSetStmt{Target: 16},
						}},
					}, Location: ir.Location{Col: 1, Row: 207}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(11)}, Set: 16, Location: ir.Location{Col: 1, Row: 207}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(14)}, Value: ir.Operand{Value: ir.Local(16)}, Object: 15, Location: ir.Location{Col: 1, Row: 207}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(14)}, Value: ir.Operand{Value: ir.Local(16)}, Object: 15, Location: ir.Location{Col: 1, Row: 207}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(15)}, Object: 2, Location: ir.Location{Col: 1, Row: 207}},
				}}, Location: ir.Location{Col: 2, Row: 209}},
			}}, Location: ir.Location{Col: 2, Row: 208}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 207}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"standing",
	}},
	{Name: "g0.data.openvox.signing.information", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 218}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 4, Location: ir.Location{Col: 1, Row: 218}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(74)}, Array: 4, Location: ir.Location{Col: 1, Row: 218}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(75)}, Array: 4, Location: ir.Location{Col: 1, Row: 218}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 3, Location: ir.Location{Col: 1, Row: 218}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 218}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 218}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 218}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"information",
	}},
	{Name: "g0.data.openvox.signing.authorization", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 220}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(76)}, Target: 3, Location: ir.Location{Col: 1, Row: 220}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 220}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 220}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 220}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"authorization",
	}},
	{Name: "g0.data.openvox.signing.arcs", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 222}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.information", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 22, Row: 222}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 22, Row: 222}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.authorization", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 36, Row: 222}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 36, Row: 222}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 8, Location: ir.Location{Col: 9, Row: 222}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(7)}, Array: 8, Location: ir.Location{Col: 9, Row: 222}},
			&ir.CallStmt{Func: "array.concat", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 9, Row: 222}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 9, Row: 222}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 3, Location: ir.Location{Col: 1, Row: 222}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 222}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 222}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 222}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"arcs",
	}},
	{Name: "g0.data.openvox.signing.dns_pattern", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 129}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(82)}, Target: 3, Location: ir.Location{Col: 1, Row: 129}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 129}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 129}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 129}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"dns_pattern",
	}},
	{Name: "g0.data.openvox.signing.address_pattern", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 131}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(83)}, Target: 3, Location: ir.Location{Col: 1, Row: 131}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 131}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 131}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 131}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"address_pattern",
	}},
	{Name: "g0.data.openvox.signing.hostname", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 249}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 249}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 250}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 250}},
			&ir.MakeNumberRefStmt{Index: 81, Target: 8, Location: ir.Location{Col: 2, Row: 250}},
			&ir.CallStmt{Func: "lte", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 2, Row: 250}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 250}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.dns_pattern", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 14, Row: 251}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 14, Row: 251}},
			&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
				{Value: ir.Local(11)},
				{Value: ir.Local(5)},
			}, Result: 12, Location: ir.Location{Col: 2, Row: 251}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(12)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 251}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.address_pattern", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 13, Location: ir.Location{Col: 18, Row: 252}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 18, Row: 252}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
					{Value: ir.Local(14)},
					{Value: ir.Local(5)},
				}, Result: 15, Location: ir.Location{Col: 2, Row: 252}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(15)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 252}},
			}}, Location: ir.Location{Col: 2, Row: 252}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 249}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 249}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 249}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 249}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"hostname",
	}},
	{Name: "g0.data.openvox.signing.fold", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 257}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 257}},
			&ir.CallStmt{Func: "lower", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 27, Row: 257}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 27, Row: 257}},
			&ir.CallStmt{Func: "trim_suffix", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.StringIndex(85)},
			}, Result: 8, Location: ir.Location{Col: 15, Row: 257}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 15, Row: 257}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 4, Location: ir.Location{Col: 1, Row: 257}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 257}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 257}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 257}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"fold",
	}},
	{Name: "g0.data.openvox.signing.asked", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 267}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 10, Row: 267}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 5, Location: ir.Location{Col: 51, Row: 267}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 51, Row: 267}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 7, Location: ir.Location{Col: 68, Row: 267}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 8, Location: ir.Location{Col: 68, Row: 267}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 68, Row: 267}},
					&ir.MakeArrayStmt{Capacity: 1, Target: 10, Location: ir.Location{Col: 37, Row: 267}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(6)}, Array: 10, Location: ir.Location{Col: 37, Row: 267}},
					&ir.CallStmt{Func: "array.concat", Args: []ir.Operand{
						{Value: ir.Local(10)},
						{Value: ir.Local(9)},
					}, Result: 11, Location: ir.Location{Col: 37, Row: 267}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 37, Row: 267}},
					&ir.ScanStmt{Source: 12, Key: 13, Value: 14, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 24, Row: 267}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 24, Row: 267}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.fold", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(16)},
						}, Result: 17, Location: ir.Location{Col: 11, Row: 267}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 11, Row: 267}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(18)}, Set: 4, Location: ir.Location{Col: 10, Row: 267}},
					}}, Location: ir.Location{Col: 24, Row: 267}},
				}},
			}, Location: ir.Location{Col: 10, Row: 267}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 19, Location: ir.Location{Col: 10, Row: 267}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 3, Location: ir.Location{Col: 1, Row: 267}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 267}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 267}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 267}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"asked",
	}},
	{Name: "g0.data.openvox.signing.reserved", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 269}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 13, Row: 269}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(86)}, Target: 5, Location: ir.Location{Col: 27, Row: 269}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 27, Row: 269}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 27, Row: 269}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.fold", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(9)},
						}, Result: 10, Location: ir.Location{Col: 14, Row: 269}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 14, Row: 269}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(11)}, Set: 4, Location: ir.Location{Col: 13, Row: 269}},
					}}, Location: ir.Location{Col: 27, Row: 269}},
				}},
			}, Location: ir.Location{Col: 13, Row: 269}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 12, Location: ir.Location{Col: 13, Row: 269}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 3, Location: ir.Location{Col: 1, Row: 269}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 269}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 269}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 269}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"reserved",
	}},
	{Name: "g0.data.openvox.signing.reserved_families", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 271}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 22, Row: 271}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(86)}, Target: 5, Location: ir.Location{Col: 32, Row: 271}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 32, Row: 271}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 32, Row: 271}},
						&ir.CallStmt{Func: "startswith", Args: []ir.Operand{
							{Value: ir.Local(9)},
							{Value: ir.StringIndex(85)},
						}, Result: 10, Location: ir.Location{Col: 63, Row: 271}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 63, Row: 271}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(9)}, Set: 4, Location: ir.Location{Col: 22, Row: 271}},
					}}, Location: ir.Location{Col: 32, Row: 271}},
				}},
			}, Location: ir.Location{Col: 22, Row: 271}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 11, Location: ir.Location{Col: 22, Row: 271}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 3, Location: ir.Location{Col: 1, Row: 271}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 271}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 271}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 271}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"reserved_families",
	}},
	{Name: "g0.data.openvox.signing.relatives", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 274}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.asked", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 39, Row: 274}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 39, Row: 274}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.reserved_families", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 46, Row: 274}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 46, Row: 274}},
			&ir.CallStmt{Func: "strings.any_suffix_match", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 14, Row: 274}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 14, Row: 274}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 3, Location: ir.Location{Col: 1, Row: 274}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 274}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 274}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 276}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.reserved_families", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 39, Row: 276}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 39, Row: 276}},
			&ir.MakeSetStmt{Target: 6, Location: ir.Location{Col: 58, Row: 276}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.asked", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 7, Location: ir.Location{Col: 85, Row: 276}},
					&ir.ScanStmt{Source: 7, Key: 8, Value: 9, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 85, Row: 276}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 85, Row: 276}},
						&ir.MakeArrayStmt{Capacity: 2, Target: 12, Location: ir.Location{Col: 59, Row: 276}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(85)}, Array: 12, Location: ir.Location{Col: 59, Row: 276}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(11)}, Array: 12, Location: ir.Location{Col: 59, Row: 276}},
						&ir.CallStmt{Func: "concat", Args: []ir.Operand{
							{Value: ir.StringIndex(3)},
							{Value: ir.Local(12)},
						}, Result: 13, Location: ir.Location{Col: 59, Row: 276}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 59, Row: 276}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(14)}, Set: 6, Location: ir.Location{Col: 58, Row: 276}},
					}}, Location: ir.Location{Col: 85, Row: 276}},
				}},
			}, Location: ir.Location{Col: 58, Row: 276}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 15, Location: ir.Location{Col: 58, Row: 276}},
			&ir.CallStmt{Func: "strings.any_suffix_match", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 14, Row: 276}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(16)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 14, Row: 276}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 3, Location: ir.Location{Col: 1, Row: 276}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 276}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 276}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 274}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"relatives",
	}},
	{Name: "g0.data.openvox.signing.related", Params: []ir.Local{
		0,
		1,
		3,
		4,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 278}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 278}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 278}},
			&ir.CallStmt{Func: "endswith", Args: []ir.Operand{
				{Value: ir.Local(6)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 26, Row: 278}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 26, Row: 278}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 5, Location: ir.Location{Col: 1, Row: 278}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 278}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 278}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 280}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 280}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 280}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 8, Location: ir.Location{Col: 43, Row: 280}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(85)}, Array: 8, Location: ir.Location{Col: 43, Row: 280}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(6)}, Array: 8, Location: ir.Location{Col: 43, Row: 280}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 43, Row: 280}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 43, Row: 280}},
			&ir.CallStmt{Func: "endswith", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 26, Row: 280}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 26, Row: 280}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 5, Location: ir.Location{Col: 1, Row: 280}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 280}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 280}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 278}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"related",
	}},
	{Name: "g0.data.openvox.signing.taken_names", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 260}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.asked", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 17, Row: 260}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 17, Row: 260}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.reserved", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 25, Row: 260}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 25, Row: 260}},
			&ir.CallStmt{Func: "and", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 17, Row: 260}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 17, Row: 260}},
			&ir.MakeSetStmt{Target: 10, Location: ir.Location{Col: 37, Row: 260}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.relatives", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 11, Location: ir.Location{Col: 2, Row: 261}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 261}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.asked", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 12, Location: ir.Location{Col: 2, Row: 262}},
					&ir.ScanStmt{Source: 12, Key: 13, Value: 14, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 2, Row: 262}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 2, Row: 262}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.reserved_families", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
						}, Result: 17, Location: ir.Location{Col: 2, Row: 263}},
						&ir.ScanStmt{Source: 17, Key: 18, Value: 19, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 20, Location: ir.Location{Col: 2, Row: 263}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 21, Location: ir.Location{Col: 2, Row: 263}},
							&ir.CallStmt{Func: "g0.data.openvox.signing.related", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
								{Value: ir.Local(16)},
								{Value: ir.Local(21)},
							}, Result: 22, Location: ir.Location{Col: 2, Row: 264}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(22)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 264}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(16)}, Set: 10, Location: ir.Location{Col: 37, Row: 260}},
						}}, Location: ir.Location{Col: 2, Row: 263}},
					}}, Location: ir.Location{Col: 2, Row: 262}},
				}},
			}, Location: ir.Location{Col: 37, Row: 260}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 23, Location: ir.Location{Col: 37, Row: 260}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(23)},
			}, Result: 24, Location: ir.Location{Col: 17, Row: 260}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 17, Row: 260}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 3, Location: ir.Location{Col: 1, Row: 260}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 260}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 260}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 260}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"taken_names",
	}},
	{Name: "g0.data.openvox.signing.taken", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 255}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 255}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.fold", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 16, Row: 255}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 16, Row: 255}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.taken_names", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 30, Row: 255}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 30, Row: 255}},
			&ir.CallStmt{Func: "internal.member_2", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 16, Row: 255}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 16, Row: 255}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 255}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 255}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 255}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 255}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"taken",
	}},
	{Name: "g0.data.openvox.signing.objections", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeSetStmt{Target: 2, Location: ir.Location{Col: 1, Row: 133}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 133}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 134}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 134}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 5, Location: ir.Location{Col: 15, Row: 135}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 15, Row: 135}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.storable", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(6)},
				}, Result: 7, Location: ir.Location{Col: 2, Row: 135}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 135}},
			}}, Location: ir.Location{Col: 2, Row: 135}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 8, Location: ir.Location{Col: 196, Row: 136}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 196, Row: 136}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 10, Location: ir.Location{Col: 9, Row: 136}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(9)}, Array: 10, Location: ir.Location{Col: 9, Row: 136}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(33)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 9, Row: 136}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 9, Row: 136}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 2, Row: 136}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(13)}, Set: 2, Location: ir.Location{Col: 1, Row: 133}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 144}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 145}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 145}},
			&ir.MakeArrayStmt{Target: 5, Location: ir.Location{Col: 11, Row: 146}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 6, Location: ir.Location{Col: 25, Row: 146}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(6)}, Key: ir.Operand{Value: ir.StringIndex(11)}, Target: 7, Location: ir.Location{Col: 25, Row: 146}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(12)}, Target: 8, Location: ir.Location{Col: 25, Row: 146}},
					&ir.ScanStmt{Source: 8, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 25, Row: 146}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 25, Row: 146}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 13, Location: ir.Location{Col: 57, Row: 146}},
						&ir.EqualStmt{A: ir.Operand{Value: ir.Local(13)}, B: ir.Operand{Value: ir.StringIndex(35)}, Location: ir.Location{Col: 57, Row: 146}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(14)}, Target: 14, Location: ir.Location{Col: 12, Row: 146}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 12, Row: 146}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(15)}, Array: 5, Location: ir.Location{Col: 11, Row: 146}},
					}}, Location: ir.Location{Col: 25, Row: 146}},
				}},
			}, Location: ir.Location{Col: 11, Row: 146}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 16, Location: ir.Location{Col: 11, Row: 146}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 17, Location: ir.Location{Col: 12, Row: 147}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 12, Row: 147}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 19, Location: ir.Location{Col: 2, Row: 147}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(18)}, Array: 19, Location: ir.Location{Col: 2, Row: 147}},
			&ir.CallStmt{Func: "neq", Args: []ir.Operand{
				{Value: ir.Local(16)},
				{Value: ir.Local(19)},
			}, Result: 20, Location: ir.Location{Col: 2, Row: 147}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(20)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 147}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.quoted", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(16)},
			}, Result: 21, Location: ir.Location{Col: 93, Row: 148}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 93, Row: 148}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.listed", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(22)},
			}, Result: 23, Location: ir.Location{Col: 86, Row: 148}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 86, Row: 148}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 25, Location: ir.Location{Col: 109, Row: 148}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 26, Location: ir.Location{Col: 109, Row: 148}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 27, Location: ir.Location{Col: 9, Row: 148}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(24)}, Array: 27, Location: ir.Location{Col: 9, Row: 148}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(26)}, Array: 27, Location: ir.Location{Col: 9, Row: 148}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(40)},
				{Value: ir.Local(27)},
			}, Result: 28, Location: ir.Location{Col: 9, Row: 148}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(28)}, Target: 29, Location: ir.Location{Col: 9, Row: 148}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(29)}, Target: 30, Location: ir.Location{Col: 2, Row: 148}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(30)}, Set: 2, Location: ir.Location{Col: 1, Row: 144}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 151}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 12, Row: 152}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 25, Row: 152}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(11)}, Target: 6, Location: ir.Location{Col: 25, Row: 152}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(6)}, Key: ir.Operand{Value: ir.StringIndex(12)}, Target: 7, Location: ir.Location{Col: 25, Row: 152}},
					&ir.ScanStmt{Source: 7, Key: 8, Value: 9, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 25, Row: 152}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 25, Row: 152}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(11)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 12, Location: ir.Location{Col: 57, Row: 152}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 57, Row: 152}},
						&ir.CallStmt{Func: "neq", Args: []ir.Operand{
							{Value: ir.Local(13)},
							{Value: ir.StringIndex(35)},
						}, Result: 14, Location: ir.Location{Col: 57, Row: 152}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 57, Row: 152}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(11)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 15, Location: ir.Location{Col: 13, Row: 152}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 13, Row: 152}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(16)}, Set: 4, Location: ir.Location{Col: 12, Row: 152}},
					}}, Location: ir.Location{Col: 25, Row: 152}},
				}},
			}, Location: ir.Location{Col: 12, Row: 152}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 17, Location: ir.Location{Col: 12, Row: 152}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(17)},
			}, Result: 18, Location: ir.Location{Col: 2, Row: 153}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 2, Row: 153}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 20, Location: ir.Location{Col: 2, Row: 153}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(19)},
				{Value: ir.Local(20)},
			}, Result: 21, Location: ir.Location{Col: 2, Row: 153}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(21)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 153}},
			&ir.CallStmt{Func: "sort", Args: []ir.Operand{
				{Value: ir.Local(17)},
			}, Result: 22, Location: ir.Location{Col: 103, Row: 154}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 103, Row: 154}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.listed", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(23)},
			}, Result: 24, Location: ir.Location{Col: 96, Row: 154}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 96, Row: 154}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 26, Location: ir.Location{Col: 9, Row: 154}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(25)}, Array: 26, Location: ir.Location{Col: 9, Row: 154}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(41)},
				{Value: ir.Local(26)},
			}, Result: 27, Location: ir.Location{Col: 9, Row: 154}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 28, Location: ir.Location{Col: 9, Row: 154}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(28)}, Target: 29, Location: ir.Location{Col: 2, Row: 154}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(29)}, Set: 2, Location: ir.Location{Col: 1, Row: 151}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 157}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 158}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 158}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 5, Location: ir.Location{Col: 2, Row: 159}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(42)}, Target: 6, Location: ir.Location{Col: 2, Row: 159}},
				&ir.EqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(true)}, Location: ir.Location{Col: 2, Row: 159}},
			}}, Location: ir.Location{Col: 2, Row: 159}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(43)}, Set: 2, Location: ir.Location{Col: 1, Row: 157}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 162}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 163}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 163}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 5, Location: ir.Location{Col: 17, Row: 164}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(44)}, Target: 6, Location: ir.Location{Col: 17, Row: 164}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 17, Row: 164}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.acceptable", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(7)},
				}, Result: 8, Location: ir.Location{Col: 2, Row: 164}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 164}},
			}}, Location: ir.Location{Col: 2, Row: 164}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 9, Location: ir.Location{Col: 149, Row: 165}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(44)}, Target: 10, Location: ir.Location{Col: 149, Row: 165}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 149, Row: 165}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.describe", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 140, Row: 165}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 140, Row: 165}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 14, Location: ir.Location{Col: 9, Row: 165}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(13)}, Array: 14, Location: ir.Location{Col: 9, Row: 165}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(59)},
				{Value: ir.Local(14)},
			}, Result: 15, Location: ir.Location{Col: 9, Row: 165}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 9, Row: 165}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 2, Row: 165}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(17)}, Set: 2, Location: ir.Location{Col: 1, Row: 162}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 189}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 74, Row: 189}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(60)}, Target: 5, Location: ir.Location{Col: 74, Row: 189}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(5)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 74, Row: 189}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(61)}, Set: 2, Location: ir.Location{Col: 1, Row: 189}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 191}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 192}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(21)}, Target: 5, Location: ir.Location{Col: 2, Row: 192}},
			&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 192}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 192}},
				&ir.MakeSetStmt{Target: 10, Location: ir.Location{Col: 2, Row: 193}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(62)}, Set: 10, Location: ir.Location{Col: 2, Row: 193}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(63)}, Set: 10, Location: ir.Location{Col: 2, Row: 193}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(64)}, Set: 10, Location: ir.Location{Col: 2, Row: 193}},
				&ir.CallStmt{Func: "internal.member_2", Args: []ir.Operand{
					{Value: ir.Local(9)},
					{Value: ir.Local(10)},
				}, Result: 11, Location: ir.Location{Col: 2, Row: 193}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 193}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 12, Location: ir.Location{Col: 9, Row: 194}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(9)}, Array: 12, Location: ir.Location{Col: 9, Row: 194}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(65)},
					{Value: ir.Local(12)},
				}, Result: 13, Location: ir.Location{Col: 9, Row: 194}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 9, Row: 194}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 2, Row: 194}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(15)}, Set: 2, Location: ir.Location{Col: 1, Row: 191}},
			}}, Location: ir.Location{Col: 2, Row: 192}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 197}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.requested", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 198}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 198}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 198}},
				&ir.MakeSetStmt{Target: 9, Location: ir.Location{Col: 8, Row: 199}},
				&ir.BlockStmt{Blocks: []*ir.Block{
					{Stmts: []ir.Stmt{
						&ir.ScanStmt{Source: 8, Key: 10, Value: 11, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 20, Row: 199}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 20, Row: 199}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 14, Location: ir.Location{Col: 9, Row: 199}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 9, Row: 199}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(15)}, Set: 9, Location: ir.Location{Col: 8, Row: 199}},
						}}, Location: ir.Location{Col: 20, Row: 199}},
					}},
				}, Location: ir.Location{Col: 8, Row: 199}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 16, Location: ir.Location{Col: 8, Row: 199}},
				&ir.CallStmt{Func: "count", Args: []ir.Operand{
					{Value: ir.Local(16)},
				}, Result: 17, Location: ir.Location{Col: 2, Row: 199}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 2, Row: 199}},
				&ir.CallStmt{Func: "count", Args: []ir.Operand{
					{Value: ir.Local(8)},
				}, Result: 19, Location: ir.Location{Col: 43, Row: 199}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 43, Row: 199}},
				&ir.CallStmt{Func: "lt", Args: []ir.Operand{
					{Value: ir.Local(18)},
					{Value: ir.Local(20)},
				}, Result: 21, Location: ir.Location{Col: 2, Row: 199}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(21)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 199}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.standing", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 22, Location: ir.Location{Col: 2, Row: 200}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(22)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 23, Location: ir.Location{Col: 2, Row: 200}},
				&ir.ScanStmt{Source: 23, Key: 24, Value: 25, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 26, Location: ir.Location{Col: 2, Row: 200}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 27, Location: ir.Location{Col: 2, Row: 200}},
					&ir.CallStmt{Func: "count", Args: []ir.Operand{
						{Value: ir.Local(27)},
					}, Result: 28, Location: ir.Location{Col: 2, Row: 201}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(28)}, Target: 29, Location: ir.Location{Col: 2, Row: 201}},
					&ir.MakeNumberRefStmt{Index: 69, Target: 30, Location: ir.Location{Col: 2, Row: 201}},
					&ir.CallStmt{Func: "gt", Args: []ir.Operand{
						{Value: ir.Local(29)},
						{Value: ir.Local(30)},
					}, Result: 31, Location: ir.Location{Col: 2, Row: 201}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(31)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 201}},
					&ir.CallStmt{Func: "min", Args: []ir.Operand{
						{Value: ir.Local(27)},
					}, Result: 32, Location: ir.Location{Col: 58, Row: 202}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(32)}, Target: 33, Location: ir.Location{Col: 58, Row: 202}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.Local(33)}, Target: 34, Location: ir.Location{Col: 52, Row: 202}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(34)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 35, Location: ir.Location{Col: 52, Row: 202}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(35)}, Target: 36, Location: ir.Location{Col: 52, Row: 202}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(36)},
					}, Result: 37, Location: ir.Location{Col: 46, Row: 202}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(37)}, Target: 38, Location: ir.Location{Col: 46, Row: 202}},
					&ir.MakeArrayStmt{Capacity: 2, Target: 39, Location: ir.Location{Col: 9, Row: 202}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(7)}, Array: 39, Location: ir.Location{Col: 9, Row: 202}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(38)}, Array: 39, Location: ir.Location{Col: 9, Row: 202}},
					&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
						{Value: ir.StringIndex(70)},
						{Value: ir.Local(39)},
					}, Result: 40, Location: ir.Location{Col: 9, Row: 202}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(40)}, Target: 41, Location: ir.Location{Col: 9, Row: 202}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(41)}, Target: 42, Location: ir.Location{Col: 2, Row: 202}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(42)}, Set: 2, Location: ir.Location{Col: 1, Row: 197}},
				}}, Location: ir.Location{Col: 2, Row: 200}},
			}}, Location: ir.Location{Col: 2, Row: 198}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 213}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 214}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(9)}, Target: 5, Location: ir.Location{Col: 2, Row: 214}},
			&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 214}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 214}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 10, Location: ir.Location{Col: 2, Row: 215}},
				&ir.EqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.StringIndex(71)}, Location: ir.Location{Col: 2, Row: 215}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(72)}, Set: 2, Location: ir.Location{Col: 1, Row: 213}},
			}}, Location: ir.Location{Col: 2, Row: 214}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 224}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 225}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(18)}, Target: 5, Location: ir.Location{Col: 2, Row: 225}},
			&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 225}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 225}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 10, Location: ir.Location{Col: 2, Row: 226}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 2, Row: 226}},
				&ir.CallStmt{Func: "neq", Args: []ir.Operand{
					{Value: ir.Local(11)},
					{Value: ir.StringIndex(73)},
				}, Result: 12, Location: ir.Location{Col: 2, Row: 226}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(12)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 226}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 13, Location: ir.Location{Col: 31, Row: 227}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 31, Row: 227}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.arcs", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 15, Location: ir.Location{Col: 46, Row: 227}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 46, Row: 227}},
				&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "strings.any_prefix_match", Args: []ir.Operand{
						{Value: ir.Local(14)},
						{Value: ir.Local(16)},
					}, Result: 17, Location: ir.Location{Col: 2, Row: 227}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(17)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 227}},
				}}, Location: ir.Location{Col: 2, Row: 227}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 18, Location: ir.Location{Col: 150, Row: 228}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 150, Row: 228}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(19)},
				}, Result: 20, Location: ir.Location{Col: 144, Row: 228}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 144, Row: 228}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 22, Location: ir.Location{Col: 9, Row: 228}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(21)}, Array: 22, Location: ir.Location{Col: 9, Row: 228}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(77)},
					{Value: ir.Local(22)},
				}, Result: 23, Location: ir.Location{Col: 9, Row: 228}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 9, Row: 228}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 2, Row: 228}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(25)}, Set: 2, Location: ir.Location{Col: 1, Row: 224}},
			}}, Location: ir.Location{Col: 2, Row: 225}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 231}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 232}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(18)}, Target: 5, Location: ir.Location{Col: 2, Row: 232}},
			&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 232}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 232}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(14)}, Target: 10, Location: ir.Location{Col: 2, Row: 233}},
				&ir.MakeNullStmt{Target: 11, Location: ir.Location{Col: 2, Row: 233}},
				&ir.EqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.Local(11)}, Location: ir.Location{Col: 2, Row: 233}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 12, Location: ir.Location{Col: 27, Row: 234}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 27, Row: 234}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.arcs", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 14, Location: ir.Location{Col: 42, Row: 234}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 42, Row: 234}},
				&ir.CallStmt{Func: "strings.any_prefix_match", Args: []ir.Operand{
					{Value: ir.Local(13)},
					{Value: ir.Local(15)},
				}, Result: 16, Location: ir.Location{Col: 2, Row: 234}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(16)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 234}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 17, Location: ir.Location{Col: 61, Row: 235}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 61, Row: 235}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(18)},
				}, Result: 19, Location: ir.Location{Col: 55, Row: 235}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 55, Row: 235}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 21, Location: ir.Location{Col: 9, Row: 235}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(20)}, Array: 21, Location: ir.Location{Col: 9, Row: 235}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(78)},
					{Value: ir.Local(21)},
				}, Result: 22, Location: ir.Location{Col: 9, Row: 235}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 9, Row: 235}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 2, Row: 235}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(24)}, Set: 2, Location: ir.Location{Col: 1, Row: 231}},
			}}, Location: ir.Location{Col: 2, Row: 232}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 238}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 239}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(18)}, Target: 5, Location: ir.Location{Col: 2, Row: 239}},
			&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 239}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 239}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 10, Location: ir.Location{Col: 2, Row: 240}},
				&ir.EqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.StringIndex(79)}, Location: ir.Location{Col: 2, Row: 240}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(80)}, Set: 2, Location: ir.Location{Col: 1, Row: 238}},
			}}, Location: ir.Location{Col: 2, Row: 239}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 243}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 244}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 5, Location: ir.Location{Col: 2, Row: 244}},
			&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 244}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 244}},
				&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.hostname", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(9)},
					}, Result: 10, Location: ir.Location{Col: 2, Row: 245}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 245}},
				}}, Location: ir.Location{Col: 2, Row: 245}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(9)},
				}, Result: 11, Location: ir.Location{Col: 149, Row: 246}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 149, Row: 246}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 13, Location: ir.Location{Col: 9, Row: 246}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(12)}, Array: 13, Location: ir.Location{Col: 9, Row: 246}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(84)},
					{Value: ir.Local(13)},
				}, Result: 14, Location: ir.Location{Col: 9, Row: 246}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 9, Row: 246}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 2, Row: 246}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(16)}, Set: 2, Location: ir.Location{Col: 1, Row: 243}},
			}}, Location: ir.Location{Col: 2, Row: 244}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 282}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 283}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 283}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 5, Location: ir.Location{Col: 8, Row: 284}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 8, Row: 284}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.taken", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 2, Row: 284}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 284}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 8, Location: ir.Location{Col: 91, Row: 285}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 91, Row: 285}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 10, Location: ir.Location{Col: 9, Row: 285}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(9)}, Array: 10, Location: ir.Location{Col: 9, Row: 285}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(87)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 9, Row: 285}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 9, Row: 285}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 2, Row: 285}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(13)}, Set: 2, Location: ir.Location{Col: 1, Row: 282}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 288}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.taken_names", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 8, Row: 289}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 8, Row: 289}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 289}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 289}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 8, Location: ir.Location{Col: 2, Row: 289}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 2, Row: 289}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 289}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 2, Row: 290}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 11, Location: ir.Location{Col: 2, Row: 290}},
			&ir.ScanStmt{Source: 11, Key: 12, Value: 13, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 2, Row: 290}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 2, Row: 290}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.taken", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(15)},
				}, Result: 16, Location: ir.Location{Col: 2, Row: 291}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(16)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 291}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(15)},
				}, Result: 17, Location: ir.Location{Col: 109, Row: 292}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 109, Row: 292}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 19, Location: ir.Location{Col: 9, Row: 292}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(18)}, Array: 19, Location: ir.Location{Col: 9, Row: 292}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(88)},
					{Value: ir.Local(19)},
				}, Result: 20, Location: ir.Location{Col: 9, Row: 292}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 9, Row: 292}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 2, Row: 292}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(22)}, Set: 2, Location: ir.Location{Col: 1, Row: 288}},
			}}, Location: ir.Location{Col: 2, Row: 290}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 133}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"objections",
	}},
	{Name: "g0.data.openvox.signing.giving", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 393}},
			&ir.MakeArrayStmt{Target: 4, Location: ir.Location{Col: 11, Row: 393}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 2, Row: 394}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(18)}, Target: 6, Location: ir.Location{Col: 2, Row: 394}},
					&ir.ScanStmt{Source: 6, Key: 7, Value: 8, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 394}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 2, Row: 394}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 11, Location: ir.Location{Col: 13, Row: 395}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 13, Row: 395}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.authorization", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
						}, Result: 13, Location: ir.Location{Col: 28, Row: 395}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 28, Row: 395}},
						&ir.CallStmt{Func: "startswith", Args: []ir.Operand{
							{Value: ir.Local(12)},
							{Value: ir.Local(14)},
						}, Result: 15, Location: ir.Location{Col: 2, Row: 395}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(15)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 395}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 16, Location: ir.Location{Col: 2, Row: 396}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 2, Row: 396}},
						&ir.CallStmt{Func: "neq", Args: []ir.Operand{
							{Value: ir.Local(17)},
							{Value: ir.StringIndex(79)},
						}, Result: 18, Location: ir.Location{Col: 2, Row: 396}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 396}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(10)}, Array: 4, Location: ir.Location{Col: 11, Row: 393}},
					}}, Location: ir.Location{Col: 2, Row: 394}},
				}},
			}, Location: ir.Location{Col: 11, Row: 393}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 19, Location: ir.Location{Col: 11, Row: 393}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 3, Location: ir.Location{Col: 1, Row: 393}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 393}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 393}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 393}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"giving",
	}},
	{Name: "g0.data.openvox.signing.rights", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 391}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 24, Row: 391}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.giving", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 58, Row: 391}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 58, Row: 391}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 58, Row: 391}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 10, Location: ir.Location{Col: 25, Row: 391}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 25, Row: 391}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 12, Location: ir.Location{Col: 41, Row: 391}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 41, Row: 391}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(11)}, Value: ir.Operand{Value: ir.Local(13)}, Object: 4, Location: ir.Location{Col: 24, Row: 391}},
					}}, Location: ir.Location{Col: 58, Row: 391}},
				}},
			}, Location: ir.Location{Col: 24, Row: 391}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 14, Location: ir.Location{Col: 24, Row: 391}},
			&ir.MakeObjectStmt{Target: 15, Location: ir.Location{Col: 85, Row: 391}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.giving", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 16, Location: ir.Location{Col: 118, Row: 391}},
					&ir.ScanStmt{Source: 16, Key: 17, Value: 18, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 19, Location: ir.Location{Col: 118, Row: 391}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 20, Location: ir.Location{Col: 118, Row: 391}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 21, Location: ir.Location{Col: 86, Row: 391}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 86, Row: 391}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 23, Location: ir.Location{Col: 101, Row: 391}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 101, Row: 391}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(22)}, Value: ir.Operand{Value: ir.Local(24)}, Object: 15, Location: ir.Location{Col: 85, Row: 391}},
					}}, Location: ir.Location{Col: 118, Row: 391}},
				}},
			}, Location: ir.Location{Col: 85, Row: 391}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 25, Location: ir.Location{Col: 85, Row: 391}},
			&ir.CallStmt{Func: "object.union", Args: []ir.Operand{
				{Value: ir.Local(14)},
				{Value: ir.Local(25)},
			}, Result: 26, Location: ir.Location{Col: 11, Row: 391}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 27, Location: ir.Location{Col: 11, Row: 391}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 3, Location: ir.Location{Col: 1, Row: 391}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 391}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 391}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 391}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"rights",
	}},
	{Name: "g0.data.openvox.signing.for_any", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 303}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 12, Row: 303}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 5, Location: ir.Location{Col: 17, Row: 303}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 17, Row: 303}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(91)}, Target: 9, Location: ir.Location{Col: 17, Row: 303}},
						&ir.EqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(true)}, Location: ir.Location{Col: 17, Row: 303}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(8)}, Set: 4, Location: ir.Location{Col: 12, Row: 303}},
					}}, Location: ir.Location{Col: 17, Row: 303}},
				}},
			}, Location: ir.Location{Col: 12, Row: 303}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 10, Location: ir.Location{Col: 12, Row: 303}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 3, Location: ir.Location{Col: 1, Row: 303}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 303}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 303}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 303}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"for_any",
	}},
	{Name: "g0.data.openvox.signing.rights_of", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 400}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 14, Row: 400}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 5, Location: ir.Location{Col: 2, Row: 401}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 401}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 401}},
						&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.CallStmt{Func: "g0.data.openvox.signing.for_any", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
							}, Result: 10, Location: ir.Location{Col: 2, Row: 402}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.Local(8)}, Target: 11, Location: ir.Location{Col: 2, Row: 402}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 402}},
						}}, Location: ir.Location{Col: 2, Row: 402}},
						&ir.MakeSetStmt{Target: 12, Location: ir.Location{Col: 11, Row: 403}},
						&ir.BlockStmt{Blocks: []*ir.Block{
							{Stmts: []ir.Stmt{
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(92)}, Target: 13, Location: ir.Location{Col: 34, Row: 403}},
								&ir.ScanStmt{Source: 13, Key: 14, Value: 15, Block: &ir.Block{Stmts: []ir.Stmt{
									&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 34, Row: 403}},
									&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 17, Location: ir.Location{Col: 34, Row: 403}},
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(17)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 18, Location: ir.Location{Col: 19, Row: 403}},
									&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 19, Row: 403}},
									&ir.CallStmt{Func: "g0.data.openvox.signing.rights", Args: []ir.Operand{
										{Value: ir.Local(0)},
										{Value: ir.Local(1)},
									}, Result: 20, Location: ir.Location{Col: 12, Row: 403}},
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.Local(19)}, Target: 21, Location: ir.Location{Col: 12, Row: 403}},
									&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 12, Row: 403}},
									&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(22)}, Set: 12, Location: ir.Location{Col: 11, Row: 403}},
								}}, Location: ir.Location{Col: 34, Row: 403}},
							}},
						}, Location: ir.Location{Col: 11, Row: 403}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 23, Location: ir.Location{Col: 11, Row: 403}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(8)}, Value: ir.Operand{Value: ir.Local(23)}, Object: 4, Location: ir.Location{Col: 14, Row: 400}},
					}}, Location: ir.Location{Col: 2, Row: 401}},
				}},
			}, Location: ir.Location{Col: 14, Row: 400}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 24, Location: ir.Location{Col: 14, Row: 400}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 3, Location: ir.Location{Col: 1, Row: 400}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 400}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 400}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 400}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"rights_of",
	}},
	{Name: "g0.data.openvox.signing.permitted_rights", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 406}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 27, Row: 406}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.rights_of", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 36, Row: 406}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 36, Row: 406}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 36, Row: 406}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(9)}, Set: 4, Location: ir.Location{Col: 27, Row: 406}},
					}}, Location: ir.Location{Col: 36, Row: 406}},
				}},
			}, Location: ir.Location{Col: 27, Row: 406}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 10, Location: ir.Location{Col: 27, Row: 406}},
			&ir.CallStmt{Func: "union", Args: []ir.Operand{
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 21, Row: 406}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 21, Row: 406}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 3, Location: ir.Location{Col: 1, Row: 406}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 406}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 406}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 406}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"permitted_rights",
	}},
	{Name: "g0.data.openvox.signing.unpermitted", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeSetStmt{Target: 2, Location: ir.Location{Col: 1, Row: 496}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 496}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 16, Row: 497}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.rights", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 24, Row: 497}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 24, Row: 497}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 24, Row: 497}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(9)}, Set: 4, Location: ir.Location{Col: 16, Row: 497}},
					}}, Location: ir.Location{Col: 24, Row: 497}},
				}},
			}, Location: ir.Location{Col: 16, Row: 497}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 10, Location: ir.Location{Col: 16, Row: 497}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.permitted_rights", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 11, Location: ir.Location{Col: 47, Row: 497}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 47, Row: 497}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(10)},
				{Value: ir.Local(12)},
			}, Result: 13, Location: ir.Location{Col: 16, Row: 497}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 16, Row: 497}},
			&ir.ScanStmt{Source: 14, Key: 15, Value: 16, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 17, Location: ir.Location{Col: 2, Row: 497}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 18, Location: ir.Location{Col: 2, Row: 497}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(18)},
				}, Result: 19, Location: ir.Location{Col: 96, Row: 498}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 96, Row: 498}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 21, Location: ir.Location{Col: 9, Row: 498}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(20)}, Array: 21, Location: ir.Location{Col: 9, Row: 498}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(93)},
					{Value: ir.Local(21)},
				}, Result: 22, Location: ir.Location{Col: 9, Row: 498}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 9, Row: 498}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 2, Row: 498}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(24)}, Set: 2, Location: ir.Location{Col: 1, Row: 496}},
			}}, Location: ir.Location{Col: 2, Row: 497}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 501}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 17, Row: 503}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(19)}, Target: 5, Location: ir.Location{Col: 17, Row: 503}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 17, Row: 503}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 7, Location: ir.Location{Col: 41, Row: 503}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(16)}, Target: 8, Location: ir.Location{Col: 41, Row: 503}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 41, Row: 503}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 69, Row: 503}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.StringIndex(17)}, Target: 11, Location: ir.Location{Col: 69, Row: 503}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 69, Row: 503}},
			&ir.MakeArrayStmt{Target: 13, Location: ir.Location{Col: 27, Row: 504}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 14, Location: ir.Location{Col: 41, Row: 504}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(14)}, Key: ir.Operand{Value: ir.StringIndex(20)}, Target: 15, Location: ir.Location{Col: 41, Row: 504}},
					&ir.ScanStmt{Source: 15, Key: 16, Value: 17, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 18, Location: ir.Location{Col: 41, Row: 504}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 19, Location: ir.Location{Col: 41, Row: 504}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(19)}, Key: ir.Operand{Value: ir.StringIndex(45)}, Target: 20, Location: ir.Location{Col: 28, Row: 504}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 28, Row: 504}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(21)}, Array: 13, Location: ir.Location{Col: 27, Row: 504}},
					}}, Location: ir.Location{Col: 41, Row: 504}},
				}},
			}, Location: ir.Location{Col: 27, Row: 504}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 22, Location: ir.Location{Col: 27, Row: 504}},
			&ir.MakeObjectStmt{Target: 23, Location: ir.Location{Col: 22, Row: 502}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(94)}, Value: ir.Operand{Value: ir.Local(6)}, Object: 23, Location: ir.Location{Col: 22, Row: 502}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(95)}, Value: ir.Operand{Value: ir.Local(9)}, Object: 23, Location: ir.Location{Col: 22, Row: 502}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(96)}, Value: ir.Operand{Value: ir.Local(12)}, Object: 23, Location: ir.Location{Col: 22, Row: 502}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(97)}, Value: ir.Operand{Value: ir.Local(22)}, Object: 23, Location: ir.Location{Col: 22, Row: 502}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 22, Row: 502}},
			&ir.ScanStmt{Source: 24, Key: 25, Value: 26, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 27, Location: ir.Location{Col: 2, Row: 502}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 28, Location: ir.Location{Col: 2, Row: 502}},
				&ir.ScanStmt{Source: 28, Key: 29, Value: 30, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(29)}, Target: 31, Location: ir.Location{Col: 2, Row: 506}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(30)}, Target: 32, Location: ir.Location{Col: 2, Row: 506}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(32)},
					}, Result: 33, Location: ir.Location{Col: 108, Row: 507}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(33)}, Target: 34, Location: ir.Location{Col: 108, Row: 507}},
					&ir.MakeArrayStmt{Capacity: 2, Target: 35, Location: ir.Location{Col: 9, Row: 507}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(27)}, Array: 35, Location: ir.Location{Col: 9, Row: 507}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(34)}, Array: 35, Location: ir.Location{Col: 9, Row: 507}},
					&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
						{Value: ir.StringIndex(98)},
						{Value: ir.Local(35)},
					}, Result: 36, Location: ir.Location{Col: 9, Row: 507}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(36)}, Target: 37, Location: ir.Location{Col: 9, Row: 507}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(37)}, Target: 38, Location: ir.Location{Col: 2, Row: 507}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(38)}, Set: 2, Location: ir.Location{Col: 1, Row: 501}},
				}}, Location: ir.Location{Col: 2, Row: 506}},
			}}, Location: ir.Location{Col: 2, Row: 502}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 496}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"unpermitted",
	}},
	{Name: "g0.data.openvox.signing.places", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 298}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 11, Row: 298}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 5, Location: ir.Location{Col: 16, Row: 298}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 16, Row: 298}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 16, Row: 298}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(8)}, Set: 4, Location: ir.Location{Col: 11, Row: 298}},
					}}, Location: ir.Location{Col: 16, Row: 298}},
				}},
			}, Location: ir.Location{Col: 11, Row: 298}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 9, Location: ir.Location{Col: 11, Row: 298}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 3, Location: ir.Location{Col: 1, Row: 298}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 298}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 298}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 298}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"places",
	}},
	{Name: "g0.data.openvox.signing.costly", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 513}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 513}},
			&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
				{Value: ir.StringIndex(101)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 20, Row: 513}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 20, Row: 513}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 513}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 513}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 513}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 513}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"costly",
	}},
	{Name: "g0.data.openvox.signing.same_name", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 313}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 14, Row: 313}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 19, Row: 313}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(5)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 19, Row: 313}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 6, Location: ir.Location{Col: 24, Row: 313}},
					&ir.ScanStmt{Source: 6, Key: 7, Value: 8, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 24, Row: 313}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 10, Location: ir.Location{Col: 24, Row: 313}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 11, Location: ir.Location{Col: 24, Row: 313}},
						&ir.ScanStmt{Source: 11, Key: 12, Value: 13, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 24, Row: 313}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 15, Location: ir.Location{Col: 24, Row: 313}},
							&ir.EqualStmt{A: ir.Operand{Value: ir.Local(13)}, B: ir.Operand{Value: ir.Local(15)}, Location: ir.Location{Col: 24, Row: 313}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 16, Location: ir.Location{Col: 89, Row: 313}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 89, Row: 313}},
							&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
								&ir.CallStmt{Func: "g0.data.openvox.signing.costly", Args: []ir.Operand{
									{Value: ir.Local(0)},
									{Value: ir.Local(1)},
									{Value: ir.Local(17)},
								}, Result: 18, Location: ir.Location{Col: 78, Row: 313}},
								&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 78, Row: 313}},
							}}, Location: ir.Location{Col: 78, Row: 313}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(9)}, Set: 4, Location: ir.Location{Col: 14, Row: 313}},
						}}, Location: ir.Location{Col: 24, Row: 313}},
					}}, Location: ir.Location{Col: 24, Row: 313}},
				}},
			}, Location: ir.Location{Col: 14, Row: 313}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 19, Location: ir.Location{Col: 14, Row: 313}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 3, Location: ir.Location{Col: 1, Row: 313}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 313}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 313}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 313}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"same_name",
	}},
	{Name: "g0.data.openvox.signing.same_affixes", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 316}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 17, Row: 316}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 2, Row: 317}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(5)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 317}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 6, Location: ir.Location{Col: 15, Row: 318}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 15, Row: 318}},
					&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.CallStmt{Func: "contains", Args: []ir.Operand{
							{Value: ir.Local(7)},
							{Value: ir.StringIndex(102)},
						}, Result: 8, Location: ir.Location{Col: 2, Row: 318}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 318}},
					}}, Location: ir.Location{Col: 2, Row: 318}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 9, Location: ir.Location{Col: 2, Row: 319}},
					&ir.ScanStmt{Source: 9, Key: 10, Value: 11, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 319}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(11)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 13, Location: ir.Location{Col: 2, Row: 319}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 14, Location: ir.Location{Col: 2, Row: 319}},
						&ir.ScanStmt{Source: 14, Key: 15, Value: 16, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 17, Location: ir.Location{Col: 2, Row: 319}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 18, Location: ir.Location{Col: 2, Row: 319}},
							&ir.CallStmt{Func: "split", Args: []ir.Operand{
								{Value: ir.Local(18)},
								{Value: ir.StringIndex(103)},
							}, Result: 19, Location: ir.Location{Col: 21, Row: 320}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 21, Row: 320}},
							&ir.IsArrayStmt{Source: ir.Operand{Value: ir.Local(20)}, Location: ir.Location{Col: 2, Row: 320}},
							&ir.LenStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 22, Location: ir.Location{Col: 2, Row: 320}},
							&ir.MakeNumberIntStmt{Value: 2, Target: 21, Location: ir.Location{Col: 2, Row: 320}},
							&ir.EqualStmt{A: ir.Operand{Value: ir.Local(22)}, B: ir.Operand{Value: ir.Local(21)}, Location: ir.Location{Col: 2, Row: 320}},
							&ir.MakeNumberIntStmt{Target: 23, Location: ir.Location{Col: 2, Row: 320}},
							&ir.AssignIntStmt{Target: 23, Location: ir.Location{Col: 2, Row: 320}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 2, Row: 320}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 2, Row: 320}},
							&ir.AssignIntStmt{Value: 1, Target: 23, Location: ir.Location{Col: 2, Row: 320}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 2, Row: 320}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 26, Location: ir.Location{Col: 2, Row: 320}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 27, Location: ir.Location{Col: 13, Row: 321}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 28, Location: ir.Location{Col: 13, Row: 321}},
							&ir.CallStmt{Func: "startswith", Args: []ir.Operand{
								{Value: ir.Local(28)},
								{Value: ir.Local(25)},
							}, Result: 29, Location: ir.Location{Col: 2, Row: 321}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(29)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 321}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 30, Location: ir.Location{Col: 11, Row: 322}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(30)}, Target: 31, Location: ir.Location{Col: 11, Row: 322}},
							&ir.CallStmt{Func: "endswith", Args: []ir.Operand{
								{Value: ir.Local(31)},
								{Value: ir.Local(26)},
							}, Result: 32, Location: ir.Location{Col: 2, Row: 322}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(32)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 322}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 33, Location: ir.Location{Col: 8, Row: 323}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(33)}, Target: 34, Location: ir.Location{Col: 8, Row: 323}},
							&ir.CallStmt{Func: "count", Args: []ir.Operand{
								{Value: ir.Local(34)},
							}, Result: 35, Location: ir.Location{Col: 2, Row: 323}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(35)}, Target: 36, Location: ir.Location{Col: 2, Row: 323}},
							&ir.CallStmt{Func: "count", Args: []ir.Operand{
								{Value: ir.Local(18)},
							}, Result: 37, Location: ir.Location{Col: 27, Row: 323}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(37)}, Target: 38, Location: ir.Location{Col: 27, Row: 323}},
							&ir.MakeNumberRefStmt{Index: 69, Target: 39, Location: ir.Location{Col: 27, Row: 323}},
							&ir.CallStmt{Func: "minus", Args: []ir.Operand{
								{Value: ir.Local(38)},
								{Value: ir.Local(39)},
							}, Result: 40, Location: ir.Location{Col: 27, Row: 323}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(40)}, Target: 41, Location: ir.Location{Col: 27, Row: 323}},
							&ir.CallStmt{Func: "gte", Args: []ir.Operand{
								{Value: ir.Local(36)},
								{Value: ir.Local(41)},
							}, Result: 42, Location: ir.Location{Col: 2, Row: 323}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(42)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 323}},
							&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
								&ir.CallStmt{Func: "g0.data.openvox.signing.costly", Args: []ir.Operand{
									{Value: ir.Local(0)},
									{Value: ir.Local(1)},
									{Value: ir.Local(18)},
								}, Result: 43, Location: ir.Location{Col: 2, Row: 324}},
								&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(43)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 324}},
							}}, Location: ir.Location{Col: 2, Row: 324}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(12)}, Set: 4, Location: ir.Location{Col: 17, Row: 316}},
						}}, Location: ir.Location{Col: 2, Row: 319}},
					}}, Location: ir.Location{Col: 2, Row: 319}},
				}},
			}, Location: ir.Location{Col: 17, Row: 316}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 44, Location: ir.Location{Col: 17, Row: 316}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(44)}, Target: 3, Location: ir.Location{Col: 1, Row: 316}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 316}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 316}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 316}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"same_affixes",
	}},
	{Name: "g0.data.openvox.signing.uncommon", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 334}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 4, Location: ir.Location{Col: 2, Row: 335}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 335}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 335}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 9, Location: ir.Location{Col: 22, Row: 336}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 10, Location: ir.Location{Col: 22, Row: 336}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 22, Row: 336}},
				&ir.CallStmt{Func: "concat", Args: []ir.Operand{
					{Value: ir.StringIndex(104)},
					{Value: ir.Local(11)},
				}, Result: 12, Location: ir.Location{Col: 9, Row: 336}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 9, Row: 336}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.costly", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(13)},
				}, Result: 14, Location: ir.Location{Col: 2, Row: 336}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 336}},
				&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 3, Location: ir.Location{Col: 1, Row: 334}},
			}}, Location: ir.Location{Col: 2, Row: 335}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 334}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 334}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 339}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 4, Location: ir.Location{Col: 22, Row: 339}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 22, Row: 339}},
			&ir.CallStmt{Func: "contains", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(102)},
			}, Result: 6, Location: ir.Location{Col: 13, Row: 339}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 13, Row: 339}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 3, Location: ir.Location{Col: 1, Row: 339}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 339}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 339}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 334}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"uncommon",
	}},
	{Name: "g0.data.openvox.signing.by_shape", Params: []ir.Local{
		0,
		1,
		3,
		4,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 516}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 516}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 516}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.costly", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(6)},
			}, Result: 8, Location: ir.Location{Col: 25, Row: 516}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 25, Row: 516}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 5, Location: ir.Location{Col: 1, Row: 516}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 516}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 516}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 518}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 518}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 518}},
			&ir.CallStmt{Func: "contains", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.StringIndex(102)},
			}, Result: 8, Location: ir.Location{Col: 22, Row: 518}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 22, Row: 518}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 5, Location: ir.Location{Col: 1, Row: 518}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 518}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 518}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 516}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"by_shape",
	}},
	{Name: "g0.data.openvox.signing.special", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 541}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(106)}, Value: ir.Operand{Value: ir.StringIndex(107)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(108)}, Value: ir.Operand{Value: ir.StringIndex(109)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(110)}, Value: ir.Operand{Value: ir.StringIndex(111)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(103)}, Value: ir.Operand{Value: ir.StringIndex(112)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(113)}, Value: ir.Operand{Value: ir.StringIndex(114)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(85)}, Value: ir.Operand{Value: ir.StringIndex(115)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(116)}, Value: ir.Operand{Value: ir.StringIndex(117)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(118)}, Value: ir.Operand{Value: ir.StringIndex(119)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(120)}, Value: ir.Operand{Value: ir.StringIndex(121)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(122)}, Value: ir.Operand{Value: ir.StringIndex(123)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(124)}, Value: ir.Operand{Value: ir.StringIndex(125)}, Object: 4, Location: ir.Location{Col: 1, Row: 541}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 3, Location: ir.Location{Col: 1, Row: 541}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 541}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 541}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 541}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"special",
	}},
	{Name: "g0.data.openvox.signing.literal", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 546}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.special", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 25, Row: 546}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 25, Row: 546}},
			&ir.MakeObjectStmt{Target: 6, Location: ir.Location{Col: 12, Row: 546}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(126)}, Value: ir.Operand{Value: ir.StringIndex(127)}, Object: 6, Location: ir.Location{Col: 12, Row: 546}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(128)}, Value: ir.Operand{Value: ir.StringIndex(129)}, Object: 6, Location: ir.Location{Col: 12, Row: 546}},
			&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.StringIndex(130)}, Value: ir.Operand{Value: ir.StringIndex(131)}, Object: 6, Location: ir.Location{Col: 12, Row: 546}},
			&ir.CallStmt{Func: "object.union", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 12, Row: 546}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 12, Row: 546}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 3, Location: ir.Location{Col: 1, Row: 546}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 546}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 546}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 546}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"literal",
	}},
	{Name: "g0.data.openvox.signing.glob_valid", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 533}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 533}},
			&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
				{Value: ir.StringIndex(132)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 24, Row: 533}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 24, Row: 533}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 533}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 533}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 533}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 535}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 535}},
			&ir.CallStmt{Func: "contains", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(105)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 536}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 536}},
			&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
				{Value: ir.StringIndex(133)},
				{Value: ir.Local(5)},
			}, Result: 7, Location: ir.Location{Col: 2, Row: 537}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 537}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.special", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 35, Row: 538}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 35, Row: 538}},
			&ir.CallStmt{Func: "strings.replace_n", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(5)},
			}, Result: 10, Location: ir.Location{Col: 17, Row: 538}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 17, Row: 538}},
			&ir.CallStmt{Func: "regex.is_valid", Args: []ir.Operand{
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 2, Row: 538}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(12)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 538}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 535}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 535}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 535}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 533}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"glob_valid",
	}},
	{Name: "g0.data.openvox.signing.shape", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 526}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 526}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "contains", Args: []ir.Operand{
					{Value: ir.Local(5)},
					{Value: ir.StringIndex(105)},
				}, Result: 6, Location: ir.Location{Col: 58, Row: 526}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 58, Row: 526}},
			}}, Location: ir.Location{Col: 58, Row: 526}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.literal", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 7, Location: ir.Location{Col: 37, Row: 526}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 37, Row: 526}},
			&ir.CallStmt{Func: "strings.replace_n", Args: []ir.Operand{
				{Value: ir.Local(8)},
				{Value: ir.Local(5)},
			}, Result: 9, Location: ir.Location{Col: 19, Row: 526}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 19, Row: 526}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 4, Location: ir.Location{Col: 1, Row: 526}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 526}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 526}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 528}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 528}},
			&ir.CallStmt{Func: "contains", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(105)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 529}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 529}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.glob_valid", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 7, Location: ir.Location{Col: 2, Row: 530}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 530}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.special", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 37, Row: 528}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 37, Row: 528}},
			&ir.CallStmt{Func: "strings.replace_n", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(5)},
			}, Result: 10, Location: ir.Location{Col: 19, Row: 528}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 19, Row: 528}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 4, Location: ir.Location{Col: 1, Row: 528}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 528}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 528}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 526}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"shape",
	}},
	{Name: "g0.data.openvox.signing.shape_matches", Params: []ir.Local{
		0,
		1,
		3,
		4,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 5, Location: ir.Location{Col: 1, Row: 520}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 6, Location: ir.Location{Col: 1, Row: 520}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 7, Location: ir.Location{Col: 1, Row: 520}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.by_shape", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(6)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 2, Row: 521}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 521}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.shape", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(6)},
			}, Result: 9, Location: ir.Location{Col: 34, Row: 522}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 34, Row: 522}},
			&ir.MakeArrayStmt{Capacity: 3, Target: 11, Location: ir.Location{Col: 14, Row: 522}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(134)}, Array: 11, Location: ir.Location{Col: 14, Row: 522}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(10)}, Array: 11, Location: ir.Location{Col: 14, Row: 522}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(135)}, Array: 11, Location: ir.Location{Col: 14, Row: 522}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 14, Row: 522}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 14, Row: 522}},
			&ir.CallStmt{Func: "regex.match", Args: []ir.Operand{
				{Value: ir.Local(13)},
				{Value: ir.Local(7)},
			}, Result: 14, Location: ir.Location{Col: 2, Row: 522}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 522}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 5, Location: ir.Location{Col: 1, Row: 520}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 5, Location: ir.Location{Col: 1, Row: 520}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 2, Location: ir.Location{Col: 1, Row: 520}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 520}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"shape_matches",
	}},
	{Name: "g0.data.openvox.signing.same_shape", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 327}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 15, Row: 327}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 2, Row: 328}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(5)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 328}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.uncommon", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 6, Location: ir.Location{Col: 2, Row: 329}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 329}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 7, Location: ir.Location{Col: 2, Row: 330}},
					&ir.ScanStmt{Source: 7, Key: 8, Value: 9, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 2, Row: 330}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 11, Location: ir.Location{Col: 2, Row: 330}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(11)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 12, Location: ir.Location{Col: 2, Row: 330}},
						&ir.ScanStmt{Source: 12, Key: 13, Value: 14, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 2, Row: 330}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 2, Row: 330}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 17, Location: ir.Location{Col: 25, Row: 331}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 25, Row: 331}},
							&ir.CallStmt{Func: "g0.data.openvox.signing.shape_matches", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
								{Value: ir.Local(16)},
								{Value: ir.Local(18)},
							}, Result: 19, Location: ir.Location{Col: 2, Row: 331}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(19)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 331}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(10)}, Set: 4, Location: ir.Location{Col: 15, Row: 327}},
						}}, Location: ir.Location{Col: 2, Row: 330}},
					}}, Location: ir.Location{Col: 2, Row: 330}},
				}},
			}, Location: ir.Location{Col: 15, Row: 327}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 20, Location: ir.Location{Col: 15, Row: 327}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 3, Location: ir.Location{Col: 1, Row: 327}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 327}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 327}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 327}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"same_shape",
	}},
	{Name: "g0.data.openvox.signing.by_name", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 311}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.same_name", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 13, Row: 311}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 13, Row: 311}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.same_affixes", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 25, Row: 311}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 25, Row: 311}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 13, Row: 311}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 13, Row: 311}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.same_shape", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 41, Row: 311}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 41, Row: 311}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 13, Row: 311}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 13, Row: 311}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 3, Location: ir.Location{Col: 1, Row: 311}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 311}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 311}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 311}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"by_name",
	}},
	{Name: "g0.data.openvox.signing.unusable", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 300}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 13, Row: 300}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 5, Location: ir.Location{Col: 18, Row: 300}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 18, Row: 300}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(2)}, Target: 9, Location: ir.Location{Col: 18, Row: 300}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 18, Row: 300}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(8)}, Set: 4, Location: ir.Location{Col: 13, Row: 300}},
					}}, Location: ir.Location{Col: 18, Row: 300}},
				}},
			}, Location: ir.Location{Col: 13, Row: 300}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 10, Location: ir.Location{Col: 13, Row: 300}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 3, Location: ir.Location{Col: 1, Row: 300}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 300}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 300}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 300}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"unusable",
	}},
	{Name: "g0.data.openvox.signing.other_names", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 305}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.by_name", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 63, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 63, Row: 305}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.for_any", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 73, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 73, Row: 305}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 63, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 63, Row: 305}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unusable", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 84, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 84, Row: 305}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 63, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 63, Row: 305}},
			&ir.MakeSetStmt{Target: 14, Location: ir.Location{Col: 16, Row: 305}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 15, Location: ir.Location{Col: 21, Row: 305}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(15)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 21, Row: 305}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 16, Location: ir.Location{Col: 26, Row: 305}},
					&ir.ScanStmt{Source: 16, Key: 17, Value: 18, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 19, Location: ir.Location{Col: 26, Row: 305}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(18)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 20, Location: ir.Location{Col: 26, Row: 305}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 21, Location: ir.Location{Col: 26, Row: 305}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(21)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 26, Row: 305}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(19)}, Set: 14, Location: ir.Location{Col: 16, Row: 305}},
					}}, Location: ir.Location{Col: 26, Row: 305}},
				}},
			}, Location: ir.Location{Col: 16, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 22, Location: ir.Location{Col: 16, Row: 305}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(22)},
				{Value: ir.Local(13)},
			}, Result: 23, Location: ir.Location{Col: 16, Row: 305}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 16, Row: 305}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 3, Location: ir.Location{Col: 1, Row: 305}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 305}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 305}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 305}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"other_names",
	}},
	{Name: "g0.data.openvox.signing.fit", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 307}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 8, Row: 307}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 32, Row: 307}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(5)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 32, Row: 307}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.places", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 6, Location: ir.Location{Col: 49, Row: 307}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 49, Row: 307}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.other_names", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 8, Location: ir.Location{Col: 58, Row: 307}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 58, Row: 307}},
					&ir.CallStmt{Func: "minus", Args: []ir.Operand{
						{Value: ir.Local(7)},
						{Value: ir.Local(9)},
					}, Result: 10, Location: ir.Location{Col: 49, Row: 307}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 49, Row: 307}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.unusable", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 12, Location: ir.Location{Col: 73, Row: 307}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 73, Row: 307}},
					&ir.CallStmt{Func: "minus", Args: []ir.Operand{
						{Value: ir.Local(11)},
						{Value: ir.Local(13)},
					}, Result: 14, Location: ir.Location{Col: 49, Row: 307}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 49, Row: 307}},
					&ir.ScanStmt{Source: 15, Key: 16, Value: 17, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 18, Location: ir.Location{Col: 37, Row: 307}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 19, Location: ir.Location{Col: 37, Row: 307}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 20, Location: ir.Location{Col: 12, Row: 307}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(20)}, Key: ir.Operand{Value: ir.Local(19)}, Target: 21, Location: ir.Location{Col: 12, Row: 307}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 12, Row: 307}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(19)}, Value: ir.Operand{Value: ir.Local(22)}, Object: 4, Location: ir.Location{Col: 8, Row: 307}},
					}}, Location: ir.Location{Col: 37, Row: 307}},
				}},
			}, Location: ir.Location{Col: 8, Row: 307}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 23, Location: ir.Location{Col: 8, Row: 307}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 3, Location: ir.Location{Col: 1, Row: 307}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 307}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 307}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 307}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"fit",
	}},
	{Name: "g0.data.openvox.signing.bound", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 309}},
			&ir.MakeObjectStmt{Target: 4, Location: ir.Location{Col: 10, Row: 309}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.fit", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 46, Row: 309}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 46, Row: 309}},
					&ir.CallStmt{Func: "object.keys", Args: []ir.Operand{
						{Value: ir.Local(6)},
					}, Result: 7, Location: ir.Location{Col: 34, Row: 309}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 34, Row: 309}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.for_any", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 9, Location: ir.Location{Col: 53, Row: 309}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 53, Row: 309}},
					&ir.CallStmt{Func: "minus", Args: []ir.Operand{
						{Value: ir.Local(8)},
						{Value: ir.Local(10)},
					}, Result: 11, Location: ir.Location{Col: 34, Row: 309}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 34, Row: 309}},
					&ir.ScanStmt{Source: 12, Key: 13, Value: 14, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 23, Row: 309}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 23, Row: 309}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.fit", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
						}, Result: 17, Location: ir.Location{Col: 14, Row: 309}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(17)}, Key: ir.Operand{Value: ir.Local(16)}, Target: 18, Location: ir.Location{Col: 14, Row: 309}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 14, Row: 309}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(16)}, Value: ir.Operand{Value: ir.Local(19)}, Object: 4, Location: ir.Location{Col: 10, Row: 309}},
					}}, Location: ir.Location{Col: 23, Row: 309}},
				}},
			}, Location: ir.Location{Col: 10, Row: 309}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 20, Location: ir.Location{Col: 10, Row: 309}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 3, Location: ir.Location{Col: 1, Row: 309}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 309}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 309}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 309}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"bound",
	}},
	{Name: "g0.data.openvox.signing.aimless", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 356}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 356}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 6, Location: ir.Location{Col: 2, Row: 357}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 357}},
			}}, Location: ir.Location{Col: 2, Row: 357}},
			&ir.MakeArrayStmt{Target: 7, Location: ir.Location{Col: 8, Row: 358}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(92)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 8, Row: 358}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 8, Row: 358}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 2, Row: 358}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 2, Row: 358}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 12, Location: ir.Location{Col: 2, Row: 358}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Local(12)}, Location: ir.Location{Col: 2, Row: 358}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 356}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 356}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 356}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 356}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"aimless",
	}},
	{Name: "g0.data.openvox.signing.wanted_names", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 385}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 17, Row: 385}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 32, Row: 385}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 32, Row: 385}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 32, Row: 385}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(92)}, Target: 10, Location: ir.Location{Col: 54, Row: 385}},
						&ir.ScanStmt{Source: 10, Key: 11, Value: 12, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 54, Row: 385}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 54, Row: 385}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(14)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 15, Location: ir.Location{Col: 18, Row: 385}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 18, Row: 385}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(16)}, Set: 4, Location: ir.Location{Col: 17, Row: 385}},
						}}, Location: ir.Location{Col: 54, Row: 385}},
					}}, Location: ir.Location{Col: 32, Row: 385}},
				}},
			}, Location: ir.Location{Col: 17, Row: 385}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 17, Location: ir.Location{Col: 17, Row: 385}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 3, Location: ir.Location{Col: 1, Row: 385}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 385}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 385}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 385}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"wanted_names",
	}},
	{Name: "g0.data.openvox.signing.all_offered", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeObjectStmt{Target: 2, Location: ir.Location{Col: 1, Row: 373}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 373}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.requested", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 374}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 374}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 374}},
				&ir.ScanStmt{Source: 8, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 2, Row: 375}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 375}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 13, Location: ir.Location{Col: 2, Row: 376}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 2, Row: 376}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.wanted_names", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 15, Location: ir.Location{Col: 15, Row: 376}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 15, Row: 376}},
					&ir.CallStmt{Func: "internal.member_2", Args: []ir.Operand{
						{Value: ir.Local(14)},
						{Value: ir.Local(16)},
					}, Result: 17, Location: ir.Location{Col: 2, Row: 376}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(17)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 376}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 18, Location: ir.Location{Col: 19, Row: 373}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 19, Row: 373}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(14)}, Target: 20, Location: ir.Location{Col: 39, Row: 373}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 39, Row: 373}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 22, Location: ir.Location{Col: 1, Row: 373}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 373}},
								}},
							}},
							&ir.MakeObjectStmt{Target: 22},
						}},
					}, Location: ir.Location{Col: 1, Row: 373}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(22)}, Key: ir.Operand{Value: ir.Local(19)}, Target: 23, Location: ir.Location{Col: 1, Row: 373}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 373}},
								}},
							}},
							&ir.MakeSetStmt{Target: 23},
						}},
					}, Location: ir.Location{Col: 1, Row: 373}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(21)}, Set: 23, Location: ir.Location{Col: 1, Row: 373}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(19)}, Value: ir.Operand{Value: ir.Local(23)}, Object: 22, Location: ir.Location{Col: 1, Row: 373}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(19)}, Value: ir.Operand{Value: ir.Local(23)}, Object: 22, Location: ir.Location{Col: 1, Row: 373}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(22)}, Object: 2, Location: ir.Location{Col: 1, Row: 373}},
				}}, Location: ir.Location{Col: 2, Row: 375}},
			}}, Location: ir.Location{Col: 2, Row: 374}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 379}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.requested", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 380}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 380}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 380}},
				&ir.ScanStmt{Source: 8, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 2, Row: 381}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 381}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 13, Location: ir.Location{Col: 2, Row: 382}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 2, Row: 382}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.wanted_names", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 15, Location: ir.Location{Col: 14, Row: 382}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 14, Row: 382}},
					&ir.CallStmt{Func: "internal.member_2", Args: []ir.Operand{
						{Value: ir.Local(14)},
						{Value: ir.Local(16)},
					}, Result: 17, Location: ir.Location{Col: 2, Row: 382}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(17)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 382}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(68)}, Target: 18, Location: ir.Location{Col: 19, Row: 379}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 19, Row: 379}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.StringIndex(14)}, Target: 20, Location: ir.Location{Col: 38, Row: 379}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 38, Row: 379}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 22, Location: ir.Location{Col: 1, Row: 379}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 379}},
								}},
							}},
							&ir.MakeObjectStmt{Target: 22},
						}},
					}, Location: ir.Location{Col: 1, Row: 379}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(22)}, Key: ir.Operand{Value: ir.Local(19)}, Target: 23, Location: ir.Location{Col: 1, Row: 379}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 379}},
								}},
							}},
							&ir.MakeSetStmt{Target: 23},
						}},
					}, Location: ir.Location{Col: 1, Row: 379}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(21)}, Set: 23, Location: ir.Location{Col: 1, Row: 379}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(19)}, Value: ir.Operand{Value: ir.Local(23)}, Object: 22, Location: ir.Location{Col: 1, Row: 379}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(19)}, Value: ir.Operand{Value: ir.Local(23)}, Object: 22, Location: ir.Location{Col: 1, Row: 379}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(22)}, Object: 2, Location: ir.Location{Col: 1, Row: 379}},
				}}, Location: ir.Location{Col: 2, Row: 381}},
			}}, Location: ir.Location{Col: 2, Row: 380}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 373}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"all_offered",
	}},
	{Name: "g0.data.openvox.signing.offered", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 370}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.all_offered", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 36, Row: 370}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 36, Row: 370}},
			&ir.MakeObjectStmt{Target: 6, Location: ir.Location{Col: 25, Row: 370}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(66)},
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 25, Row: 370}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 25, Row: 370}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.all_offered", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 9, Location: ir.Location{Col: 78, Row: 370}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 78, Row: 370}},
			&ir.MakeObjectStmt{Target: 11, Location: ir.Location{Col: 67, Row: 370}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(10)},
				{Value: ir.StringIndex(67)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 67, Row: 370}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 67, Row: 370}},
			&ir.CallStmt{Func: "object.union", Args: []ir.Operand{
				{Value: ir.Local(8)},
				{Value: ir.Local(13)},
			}, Result: 14, Location: ir.Location{Col: 12, Row: 370}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 12, Row: 370}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 3, Location: ir.Location{Col: 1, Row: 370}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 370}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 370}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 370}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"offered",
	}},
	{Name: "g0.data.openvox.signing.unmet", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 362}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 362}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.offered", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 29, Row: 362}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 29, Row: 362}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 8, Location: ir.Location{Col: 38, Row: 362}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 38, Row: 362}},
			&ir.MakeSetStmt{Target: 10, Location: ir.Location{Col: 18, Row: 362}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(9)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 18, Row: 362}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 18, Row: 362}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(14)}, Target: 13, Location: ir.Location{Col: 62, Row: 362}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 62, Row: 362}},
			&ir.MakeSetStmt{Target: 15, Location: ir.Location{Col: 18, Row: 362}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(14)}, Set: 15, Location: ir.Location{Col: 18, Row: 362}},
			&ir.CallStmt{Func: "neq", Args: []ir.Operand{
				{Value: ir.Local(12)},
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 18, Row: 362}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(16)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 18, Row: 362}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 362}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 362}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 362}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 362}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"unmet",
	}},
	{Name: "g0.data.openvox.signing.lacking", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 364}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 364}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(5)}, Key: ir.Operand{Value: ir.StringIndex(92)}, Target: 6, Location: ir.Location{Col: 2, Row: 365}},
			&ir.ScanStmt{Source: 6, Key: 7, Value: 8, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 2, Row: 365}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 2, Row: 365}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.unmet", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(10)},
				}, Result: 11, Location: ir.Location{Col: 2, Row: 366}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 366}},
				&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 364}},
			}}, Location: ir.Location{Col: 2, Row: 365}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 364}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 364}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 364}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"lacking",
	}},
	{Name: "g0.data.openvox.signing.unnamed", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 388}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 388}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.rights_of", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 45, Row: 388}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 45, Row: 388}},
			&ir.MakeSetStmt{Target: 8, Location: ir.Location{Col: 34, Row: 388}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(5)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 34, Row: 388}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 34, Row: 388}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.permitted_rights", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 11, Location: ir.Location{Col: 15, Row: 388}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 15, Row: 388}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(12)},
				{Value: ir.Local(10)},
			}, Result: 13, Location: ir.Location{Col: 15, Row: 388}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 15, Row: 388}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 4, Location: ir.Location{Col: 1, Row: 388}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 388}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 388}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 388}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"unnamed",
	}},
	{Name: "g0.data.openvox.signing.otherwise_unfit", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 350}},
			&ir.MakeSetStmt{Target: 4, Location: ir.Location{Col: 21, Row: 350}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 26, Row: 350}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 26, Row: 350}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 26, Row: 350}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.aimless", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(9)},
						}, Result: 10, Location: ir.Location{Col: 51, Row: 350}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(10)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 51, Row: 350}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(8)}, Set: 4, Location: ir.Location{Col: 21, Row: 350}},
					}}, Location: ir.Location{Col: 26, Row: 350}},
				}},
			}, Location: ir.Location{Col: 21, Row: 350}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 11, Location: ir.Location{Col: 21, Row: 350}},
			&ir.MakeSetStmt{Target: 12, Location: ir.Location{Col: 70, Row: 350}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 13, Location: ir.Location{Col: 75, Row: 350}},
					&ir.ScanStmt{Source: 13, Key: 14, Value: 15, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 75, Row: 350}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 17, Location: ir.Location{Col: 75, Row: 350}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.lacking", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(17)},
						}, Result: 18, Location: ir.Location{Col: 100, Row: 350}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 100, Row: 350}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(16)}, Set: 12, Location: ir.Location{Col: 70, Row: 350}},
					}}, Location: ir.Location{Col: 75, Row: 350}},
				}},
			}, Location: ir.Location{Col: 70, Row: 350}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 19, Location: ir.Location{Col: 70, Row: 350}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(11)},
				{Value: ir.Local(19)},
			}, Result: 20, Location: ir.Location{Col: 21, Row: 350}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(20)}, Target: 21, Location: ir.Location{Col: 21, Row: 350}},
			&ir.MakeSetStmt{Target: 22, Location: ir.Location{Col: 120, Row: 350}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.permitted_rights", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 23, Location: ir.Location{Col: 8, Row: 351}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 8, Row: 351}},
					&ir.CallStmt{Func: "count", Args: []ir.Operand{
						{Value: ir.Local(24)},
					}, Result: 25, Location: ir.Location{Col: 2, Row: 351}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 26, Location: ir.Location{Col: 2, Row: 351}},
					&ir.MakeNumberRefStmt{Index: 4, Target: 27, Location: ir.Location{Col: 2, Row: 351}},
					&ir.CallStmt{Func: "gt", Args: []ir.Operand{
						{Value: ir.Local(26)},
						{Value: ir.Local(27)},
					}, Result: 28, Location: ir.Location{Col: 2, Row: 351}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(28)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 351}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.fit", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 29, Location: ir.Location{Col: 2, Row: 352}},
					&ir.ScanStmt{Source: 29, Key: 30, Value: 31, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(30)}, Target: 32, Location: ir.Location{Col: 2, Row: 352}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(31)}, Target: 33, Location: ir.Location{Col: 2, Row: 352}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.unnamed", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(32)},
						}, Result: 34, Location: ir.Location{Col: 8, Row: 353}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(34)}, Target: 35, Location: ir.Location{Col: 8, Row: 353}},
						&ir.CallStmt{Func: "count", Args: []ir.Operand{
							{Value: ir.Local(35)},
						}, Result: 36, Location: ir.Location{Col: 2, Row: 353}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(36)}, Target: 37, Location: ir.Location{Col: 2, Row: 353}},
						&ir.MakeNumberRefStmt{Index: 4, Target: 38, Location: ir.Location{Col: 2, Row: 353}},
						&ir.CallStmt{Func: "gt", Args: []ir.Operand{
							{Value: ir.Local(37)},
							{Value: ir.Local(38)},
						}, Result: 39, Location: ir.Location{Col: 2, Row: 353}},
						&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(39)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 353}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(32)}, Set: 22, Location: ir.Location{Col: 120, Row: 350}},
					}}, Location: ir.Location{Col: 2, Row: 352}},
				}},
			}, Location: ir.Location{Col: 120, Row: 350}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 40, Location: ir.Location{Col: 120, Row: 350}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(21)},
				{Value: ir.Local(40)},
			}, Result: 41, Location: ir.Location{Col: 21, Row: 350}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(41)}, Target: 42, Location: ir.Location{Col: 21, Row: 350}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(42)}, Target: 3, Location: ir.Location{Col: 1, Row: 350}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 350}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 350}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 350}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"otherwise_unfit",
	}},
	{Name: "g0.data.openvox.signing.candidates", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 348}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.fit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 27, Row: 348}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 27, Row: 348}},
			&ir.CallStmt{Func: "object.keys", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 15, Row: 348}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 15, Row: 348}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.otherwise_unfit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 34, Row: 348}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 34, Row: 348}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 15, Row: 348}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 15, Row: 348}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 3, Location: ir.Location{Col: 1, Row: 348}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 348}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 348}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 348}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"candidates",
	}},
	{Name: "g0.data.openvox.signing.dns_text", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 451}},
			&ir.MakeArrayStmt{Target: 4, Location: ir.Location{Col: 24, Row: 451}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.MakeSetStmt{Target: 5, Location: ir.Location{Col: 71, Row: 451}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
							}, Result: 6, Location: ir.Location{Col: 79, Row: 451}},
							&ir.DotStmt{Source: ir.Operand{Value: ir.Local(6)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 7, Location: ir.Location{Col: 79, Row: 451}},
							&ir.ScanStmt{Source: 7, Key: 8, Value: 9, Block: &ir.Block{Stmts: []ir.Stmt{
								&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 79, Row: 451}},
								&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 79, Row: 451}},
								&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(11)}, Set: 5, Location: ir.Location{Col: 71, Row: 451}},
							}}, Location: ir.Location{Col: 79, Row: 451}},
						}},
					}, Location: ir.Location{Col: 71, Row: 451}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 12, Location: ir.Location{Col: 71, Row: 451}},
					&ir.ScanStmt{Source: 12, Key: 13, Value: 14, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 58, Row: 451}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 58, Row: 451}},
						&ir.MakeArrayStmt{Capacity: 3, Target: 17, Location: ir.Location{Col: 25, Row: 451}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(104)}, Array: 17, Location: ir.Location{Col: 25, Row: 451}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(16)}, Array: 17, Location: ir.Location{Col: 25, Row: 451}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(137)}, Array: 17, Location: ir.Location{Col: 25, Row: 451}},
						&ir.CallStmt{Func: "concat", Args: []ir.Operand{
							{Value: ir.StringIndex(3)},
							{Value: ir.Local(17)},
						}, Result: 18, Location: ir.Location{Col: 25, Row: 451}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 25, Row: 451}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(19)}, Array: 4, Location: ir.Location{Col: 24, Row: 451}},
					}}, Location: ir.Location{Col: 58, Row: 451}},
				}},
			}, Location: ir.Location{Col: 24, Row: 451}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 20, Location: ir.Location{Col: 24, Row: 451}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(20)},
			}, Result: 21, Location: ir.Location{Col: 13, Row: 451}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 13, Row: 451}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 3, Location: ir.Location{Col: 1, Row: 451}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 451}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 451}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 451}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"dns_text",
	}},
	{Name: "g0.data.openvox.signing.erased", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 486}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 486}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "contains", Args: []ir.Operand{
					{Value: ir.Local(5)},
					{Value: ir.StringIndex(103)},
				}, Result: 6, Location: ir.Location{Col: 2, Row: 487}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 487}},
			}}, Location: ir.Location{Col: 2, Row: 487}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.dns_text", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 7, Location: ir.Location{Col: 24, Row: 488}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 24, Row: 488}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.by_shape", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(5)},
					{Value: ir.Local(8)},
				}, Result: 9, Location: ir.Location{Col: 2, Row: 488}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 488}},
			}}, Location: ir.Location{Col: 2, Row: 488}},
			&ir.MakeArrayStmt{Capacity: 3, Target: 10, Location: ir.Location{Col: 20, Row: 486}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(104)}, Array: 10, Location: ir.Location{Col: 20, Row: 486}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(5)}, Array: 10, Location: ir.Location{Col: 20, Row: 486}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(137)}, Array: 10, Location: ir.Location{Col: 20, Row: 486}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 20, Row: 486}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 20, Row: 486}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 4, Location: ir.Location{Col: 1, Row: 486}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 486}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 486}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 491}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 491}},
			&ir.CallStmt{Func: "startswith", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(103)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 492}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(6)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 492}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.dns_text", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 7, Location: ir.Location{Col: 24, Row: 493}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 24, Row: 493}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.by_shape", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(5)},
					{Value: ir.Local(8)},
				}, Result: 9, Location: ir.Location{Col: 2, Row: 493}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 493}},
			}}, Location: ir.Location{Col: 2, Row: 493}},
			&ir.CallStmt{Func: "trim_prefix", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(103)},
			}, Result: 10, Location: ir.Location{Col: 32, Row: 491}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 32, Row: 491}},
			&ir.MakeArrayStmt{Capacity: 2, Target: 12, Location: ir.Location{Col: 20, Row: 491}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(11)}, Array: 12, Location: ir.Location{Col: 20, Row: 491}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(137)}, Array: 12, Location: ir.Location{Col: 20, Row: 491}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(12)},
			}, Result: 13, Location: ir.Location{Col: 20, Row: 491}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 20, Row: 491}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 4, Location: ir.Location{Col: 1, Row: 491}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 491}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 491}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 486}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"erased",
	}},
	{Name: "g0.data.openvox.signing.shapes", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 481}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 481}},
			&ir.MakeArrayStmt{Target: 6, Location: ir.Location{Col: 33, Row: 481}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.ScanStmt{Source: 5, Key: 7, Value: 8, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 51, Row: 481}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 51, Row: 481}},
						&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.CallStmt{Func: "g0.data.openvox.signing.erased", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
								{Value: ir.Local(10)},
							}, Result: 11, Location: ir.Location{Col: 77, Row: 481}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 77, Row: 481}},
						}}, Location: ir.Location{Col: 77, Row: 481}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.shape", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(10)},
						}, Result: 12, Location: ir.Location{Col: 34, Row: 481}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 34, Row: 481}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(13)}, Array: 6, Location: ir.Location{Col: 33, Row: 481}},
					}}, Location: ir.Location{Col: 51, Row: 481}},
				}},
			}, Location: ir.Location{Col: 33, Row: 481}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 14, Location: ir.Location{Col: 33, Row: 481}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(122)},
				{Value: ir.Local(14)},
			}, Result: 15, Location: ir.Location{Col: 21, Row: 481}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 21, Row: 481}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 4, Location: ir.Location{Col: 1, Row: 481}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 481}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 481}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 481}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"shapes",
	}},
	{Name: "g0.data.openvox.signing.remaining", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 484}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 484}},
			&ir.MakeObjectStmt{Target: 6, Location: ir.Location{Col: 42, Row: 484}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.ScanStmt{Source: 5, Key: 7, Value: 8, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 65, Row: 484}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 65, Row: 484}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.erased", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(10)},
						}, Result: 11, Location: ir.Location{Col: 43, Row: 484}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 43, Row: 484}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(12)}, Value: ir.Operand{Value: ir.StringIndex(3)}, Object: 6, Location: ir.Location{Col: 42, Row: 484}},
					}}, Location: ir.Location{Col: 65, Row: 484}},
				}},
			}, Location: ir.Location{Col: 42, Row: 484}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 13, Location: ir.Location{Col: 42, Row: 484}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.dns_text", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 14, Location: ir.Location{Col: 92, Row: 484}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 92, Row: 484}},
			&ir.CallStmt{Func: "strings.replace_n", Args: []ir.Operand{
				{Value: ir.Local(13)},
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 24, Row: 484}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 24, Row: 484}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 4, Location: ir.Location{Col: 1, Row: 484}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 484}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 484}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 484}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"remaining",
	}},
	{Name: "g0.data.openvox.signing.longest_expression", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 479}},
			&ir.MakeNumberRefStmt{Index: 138, Target: 4, Location: ir.Location{Col: 1, Row: 479}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 3, Location: ir.Location{Col: 1, Row: 479}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 479}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 479}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 479}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"longest_expression",
	}},
	{Name: "g0.data.openvox.signing.unmatched", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 462}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 462}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.shapes", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 47, Row: 462}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 47, Row: 462}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.StringIndex(3)}, Location: ir.Location{Col: 47, Row: 462}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.remaining", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 8, Location: ir.Location{Col: 24, Row: 462}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 24, Row: 462}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 4, Location: ir.Location{Col: 1, Row: 462}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 462}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 462}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 464}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 464}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.shapes", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 8, Row: 465}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 8, Row: 465}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 2, Row: 465}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 2, Row: 465}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 10, Location: ir.Location{Col: 2, Row: 465}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 2, Row: 465}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(11)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 465}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.shapes", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 12, Location: ir.Location{Col: 8, Row: 466}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 8, Row: 466}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(13)},
			}, Result: 14, Location: ir.Location{Col: 2, Row: 466}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 2, Row: 466}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.longest_expression", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 16, Location: ir.Location{Col: 29, Row: 466}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 29, Row: 466}},
			&ir.CallStmt{Func: "lte", Args: []ir.Operand{
				{Value: ir.Local(15)},
				{Value: ir.Local(17)},
			}, Result: 18, Location: ir.Location{Col: 2, Row: 466}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 466}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.remaining", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 19, Location: ir.Location{Col: 38, Row: 464}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 38, Row: 464}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.shapes", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 21, Location: ir.Location{Col: 80, Row: 464}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 80, Row: 464}},
			&ir.MakeArrayStmt{Capacity: 3, Target: 23, Location: ir.Location{Col: 59, Row: 464}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(139)}, Array: 23, Location: ir.Location{Col: 59, Row: 464}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(22)}, Array: 23, Location: ir.Location{Col: 59, Row: 464}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(140)}, Array: 23, Location: ir.Location{Col: 59, Row: 464}},
			&ir.CallStmt{Func: "concat", Args: []ir.Operand{
				{Value: ir.StringIndex(3)},
				{Value: ir.Local(23)},
			}, Result: 24, Location: ir.Location{Col: 59, Row: 464}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 59, Row: 464}},
			&ir.CallStmt{Func: "regex.replace", Args: []ir.Operand{
				{Value: ir.Local(20)},
				{Value: ir.Local(25)},
				{Value: ir.StringIndex(3)},
			}, Result: 26, Location: ir.Location{Col: 24, Row: 464}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 27, Location: ir.Location{Col: 24, Row: 464}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 4, Location: ir.Location{Col: 1, Row: 464}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 464}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 464}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 469}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 469}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.shapes", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 8, Row: 470}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 8, Row: 470}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 2, Row: 470}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 2, Row: 470}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.longest_expression", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 28, Row: 470}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 28, Row: 470}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 2, Row: 470}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(12)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 470}},
			&ir.MakeSetStmt{Target: 13, Location: ir.Location{Col: 11, Row: 471}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.ScanStmt{Source: 5, Key: 14, Value: 15, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 16, Location: ir.Location{Col: 3, Row: 472}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 17, Location: ir.Location{Col: 3, Row: 472}},
						&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.CallStmt{Func: "g0.data.openvox.signing.erased", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
								{Value: ir.Local(17)},
							}, Result: 18, Location: ir.Location{Col: 3, Row: 473}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 3, Row: 473}},
						}}, Location: ir.Location{Col: 3, Row: 473}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.shape", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(17)},
						}, Result: 19, Location: ir.Location{Col: 50, Row: 474}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 50, Row: 474}},
						&ir.MakeArrayStmt{Capacity: 3, Target: 21, Location: ir.Location{Col: 29, Row: 474}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(139)}, Array: 21, Location: ir.Location{Col: 29, Row: 474}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(20)}, Array: 21, Location: ir.Location{Col: 29, Row: 474}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.StringIndex(140)}, Array: 21, Location: ir.Location{Col: 29, Row: 474}},
						&ir.CallStmt{Func: "concat", Args: []ir.Operand{
							{Value: ir.StringIndex(3)},
							{Value: ir.Local(21)},
						}, Result: 22, Location: ir.Location{Col: 29, Row: 474}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 29, Row: 474}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.remaining", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(5)},
						}, Result: 24, Location: ir.Location{Col: 75, Row: 474}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 75, Row: 474}},
						&ir.MakeNumberRefStmt{Index: 141, Target: 26, Location: ir.Location{Col: 16, Row: 474}},
						&ir.CallStmt{Func: "regex.find_n", Args: []ir.Operand{
							{Value: ir.Local(23)},
							{Value: ir.Local(25)},
							{Value: ir.Local(26)},
						}, Result: 27, Location: ir.Location{Col: 16, Row: 474}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 28, Location: ir.Location{Col: 16, Row: 474}},
						&ir.ScanStmt{Source: 28, Key: 29, Value: 30, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(29)}, Target: 31, Location: ir.Location{Col: 3, Row: 474}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(30)}, Target: 32, Location: ir.Location{Col: 3, Row: 474}},
							&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(32)}, Set: 13, Location: ir.Location{Col: 11, Row: 471}},
						}}, Location: ir.Location{Col: 3, Row: 474}},
					}}, Location: ir.Location{Col: 3, Row: 472}},
				}},
			}, Location: ir.Location{Col: 11, Row: 471}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 33, Location: ir.Location{Col: 11, Row: 471}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.remaining", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 34, Location: ir.Location{Col: 75, Row: 469}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(34)}, Target: 35, Location: ir.Location{Col: 75, Row: 469}},
			&ir.MakeObjectStmt{Target: 36, Location: ir.Location{Col: 42, Row: 469}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.ScanStmt{Source: 33, Key: 37, Value: 38, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(37)}, Target: 39, Location: ir.Location{Col: 54, Row: 469}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(38)}, Target: 40, Location: ir.Location{Col: 54, Row: 469}},
						&ir.ObjectInsertOnceStmt{Key: ir.Operand{Value: ir.Local(40)}, Value: ir.Operand{Value: ir.StringIndex(3)}, Object: 36, Location: ir.Location{Col: 42, Row: 469}},
					}}, Location: ir.Location{Col: 54, Row: 469}},
				}},
			}, Location: ir.Location{Col: 42, Row: 469}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(36)}, Target: 41, Location: ir.Location{Col: 42, Row: 469}},
			&ir.CallStmt{Func: "strings.replace_n", Args: []ir.Operand{
				{Value: ir.Local(41)},
				{Value: ir.Local(35)},
			}, Result: 42, Location: ir.Location{Col: 24, Row: 469}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(42)}, Target: 43, Location: ir.Location{Col: 24, Row: 469}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(43)}, Target: 4, Location: ir.Location{Col: 1, Row: 469}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 469}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 469}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 462}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"unmatched",
	}},
	{Name: "g0.data.openvox.signing.permits_names", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 453}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 453}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.for_any", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 21, Row: 453}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(6)}, Key: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 21, Row: 453}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 21, Row: 453}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 453}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 453}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 453}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 455}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 455}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 21, Row: 455}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(6)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 7, Location: ir.Location{Col: 21, Row: 455}},
			&ir.IsArrayStmt{Source: ir.Operand{Value: ir.Local(7)}, Location: ir.Location{Col: 21, Row: 455}},
			&ir.LenStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 21, Row: 455}},
			&ir.MakeNumberIntStmt{Target: 8, Location: ir.Location{Col: 21, Row: 455}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Local(8)}, Location: ir.Location{Col: 21, Row: 455}},
			&ir.MakeNumberIntStmt{Target: 10, Location: ir.Location{Col: 21, Row: 455}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 455}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 455}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 455}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 457}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 457}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 44, Row: 457}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(6)}, Key: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 44, Row: 457}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(7)}, Key: ir.Operand{Value: ir.StringIndex(136)}, Target: 8, Location: ir.Location{Col: 44, Row: 457}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 9, Location: ir.Location{Col: 44, Row: 457}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 44, Row: 457}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unmatched", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 34, Row: 457}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 34, Row: 457}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "contains", Args: []ir.Operand{
					{Value: ir.Local(12)},
					{Value: ir.StringIndex(137)},
				}, Result: 13, Location: ir.Location{Col: 21, Row: 457}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(13)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 21, Row: 457}},
			}}, Location: ir.Location{Col: 21, Row: 457}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 4, Location: ir.Location{Col: 1, Row: 457}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 457}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 457}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 453}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"permits_names",
	}},
	{Name: "g0.data.openvox.signing.unfit", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 345}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unusable", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 11, Row: 345}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 11, Row: 345}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.otherwise_unfit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 22, Row: 345}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 22, Row: 345}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 11, Row: 345}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 11, Row: 345}},
			&ir.MakeSetStmt{Target: 10, Location: ir.Location{Col: 41, Row: 345}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.candidates", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 11, Location: ir.Location{Col: 46, Row: 345}},
					&ir.ScanStmt{Source: 11, Key: 12, Value: 13, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 46, Row: 345}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 15, Location: ir.Location{Col: 46, Row: 345}},
						&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.CallStmt{Func: "g0.data.openvox.signing.permits_names", Args: []ir.Operand{
								{Value: ir.Local(0)},
								{Value: ir.Local(1)},
								{Value: ir.Local(15)},
							}, Result: 16, Location: ir.Location{Col: 68, Row: 345}},
							&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(16)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 68, Row: 345}},
						}}, Location: ir.Location{Col: 68, Row: 345}},
						&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(15)}, Set: 10, Location: ir.Location{Col: 41, Row: 345}},
					}}, Location: ir.Location{Col: 46, Row: 345}},
				}},
			}, Location: ir.Location{Col: 41, Row: 345}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 17, Location: ir.Location{Col: 41, Row: 345}},
			&ir.CallStmt{Func: "or", Args: []ir.Operand{
				{Value: ir.Local(9)},
				{Value: ir.Local(17)},
			}, Result: 18, Location: ir.Location{Col: 11, Row: 345}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 11, Row: 345}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 3, Location: ir.Location{Col: 1, Row: 345}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 345}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 345}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 345}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"unfit",
	}},
	{Name: "g0.data.openvox.signing.matched", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 343}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.fit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 24, Row: 343}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 24, Row: 343}},
			&ir.CallStmt{Func: "object.keys", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 12, Row: 343}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 12, Row: 343}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unfit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 31, Row: 343}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 31, Row: 343}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 12, Row: 343}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 12, Row: 343}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 3, Location: ir.Location{Col: 1, Row: 343}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 343}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 343}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 343}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"matched",
	}},
	{Name: "g0.data.openvox.signing.matched_names", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 123}},
			&ir.MakeArrayStmt{Target: 4, Location: ir.Location{Col: 23, Row: 123}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.matched", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 49, Row: 123}},
					&ir.ScanStmt{Source: 5, Key: 6, Value: 7, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 49, Row: 123}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 9, Location: ir.Location{Col: 49, Row: 123}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 10, Location: ir.Location{Col: 24, Row: 123}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(10)}, Key: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 24, Row: 123}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(11)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 12, Location: ir.Location{Col: 24, Row: 123}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 24, Row: 123}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(13)}, Array: 4, Location: ir.Location{Col: 23, Row: 123}},
					}}, Location: ir.Location{Col: 49, Row: 123}},
				}},
			}, Location: ir.Location{Col: 23, Row: 123}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 14, Location: ir.Location{Col: 23, Row: 123}},
			&ir.CallStmt{Func: "sort", Args: []ir.Operand{
				{Value: ir.Local(14)},
			}, Result: 15, Location: ir.Location{Col: 18, Row: 123}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 18, Row: 123}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 3, Location: ir.Location{Col: 1, Row: 123}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 123}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 123}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 123}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"matched_names",
	}},
	{Name: "g0.data.openvox.signing.but_for_that", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 117}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matched", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 29, Row: 117}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 29, Row: 117}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 23, Row: 117}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 23, Row: 117}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 8, Location: ir.Location{Col: 23, Row: 117}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Local(8)}, Location: ir.Location{Col: 23, Row: 117}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.StringIndex(3)}, Target: 3, Location: ir.Location{Col: 1, Row: 117}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 117}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 117}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 119}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matched", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 80, Row: 119}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 80, Row: 119}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 74, Row: 119}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 74, Row: 119}},
			&ir.MakeNumberRefStmt{Index: 69, Target: 8, Location: ir.Location{Col: 74, Row: 119}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Local(8)}, Location: ir.Location{Col: 74, Row: 119}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matched_names", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 9, Location: ir.Location{Col: 55, Row: 119}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 55, Row: 119}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.quoted", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(10)},
			}, Result: 11, Location: ir.Location{Col: 48, Row: 119}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 48, Row: 119}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(142)},
				{Value: ir.Local(12)},
			}, Result: 13, Location: ir.Location{Col: 17, Row: 119}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 17, Row: 119}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 3, Location: ir.Location{Col: 1, Row: 119}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 119}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 119}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 121}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matched", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 92, Row: 121}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 92, Row: 121}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 86, Row: 121}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 86, Row: 121}},
			&ir.MakeNumberRefStmt{Index: 69, Target: 8, Location: ir.Location{Col: 86, Row: 121}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 86, Row: 121}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 86, Row: 121}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matched_names", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 65, Row: 121}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 65, Row: 121}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.quoted", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 58, Row: 121}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 58, Row: 121}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.listed", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(13)},
			}, Result: 14, Location: ir.Location{Col: 51, Row: 121}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 51, Row: 121}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 16, Location: ir.Location{Col: 17, Row: 121}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(15)}, Array: 16, Location: ir.Location{Col: 17, Row: 121}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(143)},
				{Value: ir.Local(16)},
			}, Result: 17, Location: ir.Location{Col: 17, Row: 121}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 17, Row: 121}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 3, Location: ir.Location{Col: 1, Row: 121}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 121}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 121}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 117}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"but_for_that",
	}},
	{Name: "g0.data.openvox.signing.faults", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeSetStmt{Target: 2, Location: ir.Location{Col: 1, Row: 28}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 28}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 4, Location: ir.Location{Col: 13, Row: 29}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 13, Row: 29}},
			&ir.CallStmt{Func: "object.get", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.StringIndex(2)},
				{Value: ir.StringIndex(3)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 29}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 29}},
			&ir.CallStmt{Func: "neq", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.StringIndex(3)},
			}, Result: 8, Location: ir.Location{Col: 2, Row: 29}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 29}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 9, Location: ir.Location{Col: 76, Row: 28}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(2)}, Target: 10, Location: ir.Location{Col: 76, Row: 28}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 76, Row: 28}},
			&ir.MakeNumberRefStmt{Index: 6, Target: 12, Location: ir.Location{Col: 72, Row: 28}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.cut", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(11)},
				{Value: ir.Local(12)},
			}, Result: 13, Location: ir.Location{Col: 72, Row: 28}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 72, Row: 28}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 15, Location: ir.Location{Col: 17, Row: 28}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(14)}, Array: 15, Location: ir.Location{Col: 17, Row: 28}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(7)},
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 17, Row: 28}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 17, Row: 28}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(17)}, Set: 2, Location: ir.Location{Col: 1, Row: 28}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 32}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(1)}, Target: 4, Location: ir.Location{Col: 54, Row: 32}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 54, Row: 32}},
			}}, Location: ir.Location{Col: 54, Row: 32}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(8)}, Set: 2, Location: ir.Location{Col: 1, Row: 32}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 34}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.excess", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 35}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 35}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 35}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.most", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 9, Location: ir.Location{Col: 123, Row: 34}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 10, Location: ir.Location{Col: 123, Row: 34}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 123, Row: 34}},
				&ir.MakeArrayStmt{Capacity: 3, Target: 12, Location: ir.Location{Col: 17, Row: 34}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(8)}, Array: 12, Location: ir.Location{Col: 17, Row: 34}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(7)}, Array: 12, Location: ir.Location{Col: 17, Row: 34}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(11)}, Array: 12, Location: ir.Location{Col: 17, Row: 34}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(31)},
					{Value: ir.Local(12)},
				}, Result: 13, Location: ir.Location{Col: 17, Row: 34}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 17, Row: 34}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(14)}, Set: 2, Location: ir.Location{Col: 1, Row: 34}},
			}}, Location: ir.Location{Col: 2, Row: 35}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 38}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.objections", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 30, Row: 38}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 30, Row: 38}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 30, Row: 38}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(8)}, Set: 2, Location: ir.Location{Col: 1, Row: 38}},
			}}, Location: ir.Location{Col: 30, Row: 38}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 40}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 41}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 41}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 5, Location: ir.Location{Col: 8, Row: 42}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 8, Row: 42}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(6)},
			}, Result: 7, Location: ir.Location{Col: 2, Row: 42}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 2, Row: 42}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 9, Location: ir.Location{Col: 2, Row: 42}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Local(9)}, Location: ir.Location{Col: 2, Row: 42}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(90)}, Set: 2, Location: ir.Location{Col: 1, Row: 40}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 115}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unpermitted", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 57, Row: 115}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 57, Row: 115}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 57, Row: 115}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.but_for_that", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 9, Location: ir.Location{Col: 34, Row: 115}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 34, Row: 115}},
				&ir.MakeArrayStmt{Capacity: 2, Target: 11, Location: ir.Location{Col: 17, Row: 115}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(10)}, Array: 11, Location: ir.Location{Col: 17, Row: 115}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(8)}, Array: 11, Location: ir.Location{Col: 17, Row: 115}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(144)},
					{Value: ir.Local(11)},
				}, Result: 12, Location: ir.Location{Col: 17, Row: 115}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 17, Row: 115}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(13)}, Set: 2, Location: ir.Location{Col: 1, Row: 115}},
			}}, Location: ir.Location{Col: 57, Row: 115}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 28}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"faults",
	}},
	{Name: "g0.data.openvox.signing.matching", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 108}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unpermitted", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 8, Row: 109}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 8, Row: 109}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 109}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 109}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 8, Location: ir.Location{Col: 2, Row: 109}},
			&ir.EqualStmt{A: ir.Operand{Value: ir.Local(7)}, B: ir.Operand{Value: ir.Local(8)}, Location: ir.Location{Col: 2, Row: 109}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.candidates", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 9, Location: ir.Location{Col: 2, Row: 110}},
			&ir.ScanStmt{Source: 9, Key: 10, Value: 11, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 110}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 2, Row: 110}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.permits_names", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(13)},
				}, Result: 14, Location: ir.Location{Col: 2, Row: 111}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 111}},
				&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Bool(true)}, Target: 3, Location: ir.Location{Col: 1, Row: 108}},
			}}, Location: ir.Location{Col: 2, Row: 110}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 108}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 108}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 108}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"matching",
	}},
	{Name: "g0.data.openvox.signing.near", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 97}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.matching", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 4, Location: ir.Location{Col: 18, Row: 97}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 18, Row: 97}},
			}}, Location: ir.Location{Col: 18, Row: 97}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unfit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 5, Location: ir.Location{Col: 9, Row: 97}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 9, Row: 97}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 3, Location: ir.Location{Col: 1, Row: 97}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 97}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 97}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 99}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matching", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 18, Row: 99}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 18, Row: 99}},
			&ir.MakeSetStmt{Target: 5, Location: ir.Location{Col: 1, Row: 99}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 3, Location: ir.Location{Col: 1, Row: 99}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 99}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 99}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 97}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"near",
	}},
	{Name: "g0.data.openvox.signing.most_reasons", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 22}},
			&ir.MakeNumberRefStmt{Index: 145, Target: 4, Location: ir.Location{Col: 1, Row: 22}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 3, Location: ir.Location{Col: 1, Row: 22}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 22}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 22}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 22}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"most_reasons",
	}},
	{Name: "g0.data.openvox.signing.first", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 106}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 106}},
			&ir.MakeArrayStmt{Target: 6, Location: ir.Location{Col: 18, Row: 106}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.MakeArrayStmt{Target: 7, Location: ir.Location{Col: 59, Row: 106}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.ScanStmt{Source: 5, Key: 8, Value: 9, Block: &ir.Block{Stmts: []ir.Stmt{
								&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 10, Location: ir.Location{Col: 90, Row: 106}},
								&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 90, Row: 106}},
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 12, Location: ir.Location{Col: 61, Row: 106}},
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(12)}, Key: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 61, Row: 106}},
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 14, Location: ir.Location{Col: 61, Row: 106}},
								&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 61, Row: 106}},
								&ir.MakeArrayStmt{Capacity: 2, Target: 16, Location: ir.Location{Col: 60, Row: 106}},
								&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(15)}, Array: 16, Location: ir.Location{Col: 60, Row: 106}},
								&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(11)}, Array: 16, Location: ir.Location{Col: 60, Row: 106}},
								&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 60, Row: 106}},
								&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(17)}, Array: 7, Location: ir.Location{Col: 59, Row: 106}},
							}}, Location: ir.Location{Col: 90, Row: 106}},
						}},
					}, Location: ir.Location{Col: 59, Row: 106}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 18, Location: ir.Location{Col: 59, Row: 106}},
					&ir.CallStmt{Func: "sort", Args: []ir.Operand{
						{Value: ir.Local(18)},
					}, Result: 19, Location: ir.Location{Col: 54, Row: 106}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 54, Row: 106}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.most_reasons", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 21, Location: ir.Location{Col: 113, Row: 106}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 113, Row: 106}},
					&ir.MakeNumberRefStmt{Index: 4, Target: 23, Location: ir.Location{Col: 42, Row: 106}},
					&ir.CallStmt{Func: "array.slice", Args: []ir.Operand{
						{Value: ir.Local(20)},
						{Value: ir.Local(23)},
						{Value: ir.Local(22)},
					}, Result: 24, Location: ir.Location{Col: 42, Row: 106}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 25, Location: ir.Location{Col: 42, Row: 106}},
					&ir.ScanStmt{Source: 25, Key: 26, Value: 27, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 28, Location: ir.Location{Col: 29, Row: 106}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 29, Location: ir.Location{Col: 29, Row: 106}},
						&ir.MakeNumberRefStmt{Index: 69, Target: 30, Location: ir.Location{Col: 19, Row: 106}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(29)}, Key: ir.Operand{Value: ir.Local(30)}, Target: 31, Location: ir.Location{Col: 19, Row: 106}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(31)}, Target: 32, Location: ir.Location{Col: 19, Row: 106}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(32)}, Array: 6, Location: ir.Location{Col: 18, Row: 106}},
					}}, Location: ir.Location{Col: 29, Row: 106}},
				}},
			}, Location: ir.Location{Col: 18, Row: 106}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 33, Location: ir.Location{Col: 18, Row: 106}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(33)}, Target: 4, Location: ir.Location{Col: 1, Row: 106}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 106}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 106}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 106}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"first",
	}},
	{Name: "g0.data.openvox.signing.strays", Params: []ir.Local{
		0,
		1,
		3,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 4, Location: ir.Location{Col: 1, Row: 460}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 5, Location: ir.Location{Col: 1, Row: 460}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.unmatched", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 50, Row: 460}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 50, Row: 460}},
			&ir.MakeNumberRefStmt{Index: 141, Target: 8, Location: ir.Location{Col: 21, Row: 460}},
			&ir.CallStmt{Func: "regex.find_n", Args: []ir.Operand{
				{Value: ir.StringIndex(152)},
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 21, Row: 460}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 21, Row: 460}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 4, Location: ir.Location{Col: 1, Row: 460}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 4, Location: ir.Location{Col: 1, Row: 460}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 2, Location: ir.Location{Col: 1, Row: 460}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 460}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"strays",
	}},
	{Name: "g0.data.openvox.signing.misses", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeObjectStmt{Target: 2, Location: ir.Location{Col: 1, Row: 410}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 410}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 4, Location: ir.Location{Col: 72, Row: 410}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 72, Row: 410}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 72, Row: 410}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.StringIndex(2)}, Target: 9, Location: ir.Location{Col: 54, Row: 410}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 54, Row: 410}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 11, Location: ir.Location{Col: 20, Row: 410}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(10)}, Array: 11, Location: ir.Location{Col: 20, Row: 410}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(146)},
					{Value: ir.Local(11)},
				}, Result: 12, Location: ir.Location{Col: 20, Row: 410}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 20, Row: 410}},
				&ir.BlockStmt{Blocks: []*ir.Block{
					{Stmts: []ir.Stmt{
						&ir.BlockStmt{Blocks: []*ir.Block{
							{Stmts: []ir.Stmt{
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 14, Location: ir.Location{Col: 1, Row: 410}},
								&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 410}},
							}},
						}},
						&ir.MakeSetStmt{Target: 14},
					}},
				}, Location: ir.Location{Col: 1, Row: 410}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(13)}, Set: 14, Location: ir.Location{Col: 1, Row: 410}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(14)}, Object: 2, Location: ir.Location{Col: 1, Row: 410}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(14)}, Object: 2, Location: ir.Location{Col: 1, Row: 410}},
			}}, Location: ir.Location{Col: 72, Row: 410}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 412}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 413}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 413}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 413}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.aimless", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(8)},
				}, Result: 9, Location: ir.Location{Col: 2, Row: 414}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 414}},
				&ir.BlockStmt{Blocks: []*ir.Block{
					{Stmts: []ir.Stmt{
						&ir.BlockStmt{Blocks: []*ir.Block{
							{Stmts: []ir.Stmt{
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 10, Location: ir.Location{Col: 1, Row: 412}},
								&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 412}},
							}},
						}},
						&ir.MakeSetStmt{Target: 10},
					}},
				}, Location: ir.Location{Col: 1, Row: 412}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.StringIndex(147)}, Set: 10, Location: ir.Location{Col: 1, Row: 412}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(10)}, Object: 2, Location: ir.Location{Col: 1, Row: 412}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(10)}, Object: 2, Location: ir.Location{Col: 1, Row: 412}},
			}}, Location: ir.Location{Col: 2, Row: 413}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 417}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 418}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 418}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 418}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.StringIndex(92)}, Target: 9, Location: ir.Location{Col: 2, Row: 419}},
				&ir.ScanStmt{Source: 9, Key: 10, Value: 11, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 419}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 2, Row: 419}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.unmet", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(13)},
					}, Result: 14, Location: ir.Location{Col: 2, Row: 420}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 420}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.offered", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 15, Location: ir.Location{Col: 87, Row: 421}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 87, Row: 421}},
					&ir.CallStmt{Func: "object.keys", Args: []ir.Operand{
						{Value: ir.Local(16)},
					}, Result: 17, Location: ir.Location{Col: 75, Row: 421}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 75, Row: 421}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 19, Location: ir.Location{Col: 60, Row: 421}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 60, Row: 421}},
					&ir.CallStmt{Func: "internal.member_2", Args: []ir.Operand{
						{Value: ir.Local(20)},
						{Value: ir.Local(18)},
					}, Result: 21, Location: ir.Location{Col: 60, Row: 421}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 60, Row: 421}},
					&ir.MakeObjectStmt{Target: 23, Location: ir.Location{Col: 9, Row: 421}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Bool(false)}, Value: ir.Operand{Value: ir.StringIndex(148)}, Object: 23, Location: ir.Location{Col: 9, Row: 421}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Bool(true)}, Value: ir.Operand{Value: ir.StringIndex(149)}, Object: 23, Location: ir.Location{Col: 9, Row: 421}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 9, Row: 421}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(24)}, Key: ir.Operand{Value: ir.Local(22)}, Target: 25, Location: ir.Location{Col: 2, Row: 421}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 26, Location: ir.Location{Col: 2, Row: 421}},
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 27, Location: ir.Location{Col: 41, Row: 417}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 28, Location: ir.Location{Col: 41, Row: 417}},
					&ir.MakeArrayStmt{Capacity: 2, Target: 29, Location: ir.Location{Col: 20, Row: 417}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(28)}, Array: 29, Location: ir.Location{Col: 20, Row: 417}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(26)}, Array: 29, Location: ir.Location{Col: 20, Row: 417}},
					&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
						{Value: ir.StringIndex(150)},
						{Value: ir.Local(29)},
					}, Result: 30, Location: ir.Location{Col: 20, Row: 417}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(30)}, Target: 31, Location: ir.Location{Col: 20, Row: 417}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 32, Location: ir.Location{Col: 1, Row: 417}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 417}},
								}},
							}},
							&ir.MakeSetStmt{Target: 32},
						}},
					}, Location: ir.Location{Col: 1, Row: 417}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(31)}, Set: 32, Location: ir.Location{Col: 1, Row: 417}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(32)}, Object: 2, Location: ir.Location{Col: 1, Row: 417}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(32)}, Object: 2, Location: ir.Location{Col: 1, Row: 417}},
				}}, Location: ir.Location{Col: 2, Row: 419}},
			}}, Location: ir.Location{Col: 2, Row: 418}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 424}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 425}},
			&ir.DotStmt{Source: ir.Operand{Value: ir.Local(4)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 5, Location: ir.Location{Col: 2, Row: 425}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 2, Row: 425}},
			&ir.MakeArrayStmt{Target: 7, Location: ir.Location{Col: 2, Row: 425}},
			&ir.CallStmt{Func: "neq", Args: []ir.Operand{
				{Value: ir.Local(6)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 2, Row: 425}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 425}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 9, Location: ir.Location{Col: 2, Row: 426}},
			&ir.ScanStmt{Source: 9, Key: 10, Value: 11, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 426}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 2, Row: 426}},
				&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.StringIndex(136)}, Target: 14, Location: ir.Location{Col: 2, Row: 427}},
					&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(14)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 427}},
				}}, Location: ir.Location{Col: 2, Row: 427}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.csr", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 15, Location: ir.Location{Col: 102, Row: 428}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(15)}, Key: ir.Operand{Value: ir.StringIndex(15)}, Target: 16, Location: ir.Location{Col: 102, Row: 428}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 102, Row: 428}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.listed", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(17)},
				}, Result: 18, Location: ir.Location{Col: 95, Row: 428}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 95, Row: 428}},
				&ir.MakeArrayStmt{Capacity: 1, Target: 20, Location: ir.Location{Col: 9, Row: 428}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(19)}, Array: 20, Location: ir.Location{Col: 9, Row: 428}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(151)},
					{Value: ir.Local(20)},
				}, Result: 21, Location: ir.Location{Col: 9, Row: 428}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 9, Row: 428}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 2, Row: 428}},
				&ir.BlockStmt{Blocks: []*ir.Block{
					{Stmts: []ir.Stmt{
						&ir.BlockStmt{Blocks: []*ir.Block{
							{Stmts: []ir.Stmt{
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(12)}, Target: 24, Location: ir.Location{Col: 1, Row: 424}},
								&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 424}},
							}},
						}},
						&ir.MakeSetStmt{Target: 24},
					}},
				}, Location: ir.Location{Col: 1, Row: 424}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(23)}, Set: 24, Location: ir.Location{Col: 1, Row: 424}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(12)}, Value: ir.Operand{Value: ir.Local(24)}, Object: 2, Location: ir.Location{Col: 1, Row: 424}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(12)}, Value: ir.Operand{Value: ir.Local(24)}, Object: 2, Location: ir.Location{Col: 1, Row: 424}},
			}}, Location: ir.Location{Col: 2, Row: 426}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 431}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.bound", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 2, Row: 432}},
			&ir.ScanStmt{Source: 4, Key: 5, Value: 6, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 7, Location: ir.Location{Col: 2, Row: 432}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 8, Location: ir.Location{Col: 2, Row: 432}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(8)}, Key: ir.Operand{Value: ir.StringIndex(136)}, Target: 9, Location: ir.Location{Col: 2, Row: 433}},
				&ir.DotStmt{Source: ir.Operand{Value: ir.Local(9)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 10, Location: ir.Location{Col: 2, Row: 433}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 2, Row: 433}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.strays", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(11)},
				}, Result: 12, Location: ir.Location{Col: 13, Row: 434}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 13, Row: 434}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 2, Row: 434}},
				&ir.CallStmt{Func: "count", Args: []ir.Operand{
					{Value: ir.Local(14)},
				}, Result: 15, Location: ir.Location{Col: 2, Row: 435}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 2, Row: 435}},
				&ir.MakeNumberRefStmt{Index: 4, Target: 17, Location: ir.Location{Col: 2, Row: 435}},
				&ir.CallStmt{Func: "gt", Args: []ir.Operand{
					{Value: ir.Local(16)},
					{Value: ir.Local(17)},
				}, Result: 18, Location: ir.Location{Col: 2, Row: 435}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(18)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 435}},
				&ir.MakeArrayStmt{Target: 19, Location: ir.Location{Col: 11, Row: 436}},
				&ir.BlockStmt{Blocks: []*ir.Block{
					{Stmts: []ir.Stmt{
						&ir.MakeNumberRefStmt{Index: 4, Target: 20, Location: ir.Location{Col: 46, Row: 436}},
						&ir.MakeNumberRefStmt{Index: 37, Target: 21, Location: ir.Location{Col: 46, Row: 436}},
						&ir.CallStmt{Func: "array.slice", Args: []ir.Operand{
							{Value: ir.Local(14)},
							{Value: ir.Local(20)},
							{Value: ir.Local(21)},
						}, Result: 22, Location: ir.Location{Col: 46, Row: 436}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(22)}, Target: 23, Location: ir.Location{Col: 46, Row: 436}},
						&ir.ScanStmt{Source: 23, Key: 24, Value: 25, Block: &ir.Block{Stmts: []ir.Stmt{
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 26, Location: ir.Location{Col: 33, Row: 436}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 27, Location: ir.Location{Col: 33, Row: 436}},
							&ir.CallStmt{Func: "trim", Args: []ir.Operand{
								{Value: ir.Local(27)},
								{Value: ir.StringIndex(153)},
							}, Result: 28, Location: ir.Location{Col: 12, Row: 436}},
							&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(28)}, Target: 29, Location: ir.Location{Col: 12, Row: 436}},
							&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(29)}, Array: 19, Location: ir.Location{Col: 11, Row: 436}},
						}}, Location: ir.Location{Col: 33, Row: 436}},
					}},
				}, Location: ir.Location{Col: 11, Row: 436}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 30, Location: ir.Location{Col: 11, Row: 436}},
				&ir.CallStmt{Func: "count", Args: []ir.Operand{
					{Value: ir.Local(14)},
				}, Result: 31, Location: ir.Location{Col: 112, Row: 437}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(31)}, Target: 32, Location: ir.Location{Col: 112, Row: 437}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.beginning", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(30)},
					{Value: ir.Local(32)},
				}, Result: 33, Location: ir.Location{Col: 95, Row: 437}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(33)}, Target: 34, Location: ir.Location{Col: 95, Row: 437}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.listed", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(11)},
				}, Result: 35, Location: ir.Location{Col: 129, Row: 437}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(35)}, Target: 36, Location: ir.Location{Col: 129, Row: 437}},
				&ir.MakeArrayStmt{Capacity: 2, Target: 37, Location: ir.Location{Col: 9, Row: 437}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(34)}, Array: 37, Location: ir.Location{Col: 9, Row: 437}},
				&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(36)}, Array: 37, Location: ir.Location{Col: 9, Row: 437}},
				&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
					{Value: ir.StringIndex(154)},
					{Value: ir.Local(37)},
				}, Result: 38, Location: ir.Location{Col: 9, Row: 437}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(38)}, Target: 39, Location: ir.Location{Col: 9, Row: 437}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(39)}, Target: 40, Location: ir.Location{Col: 2, Row: 437}},
				&ir.BlockStmt{Blocks: []*ir.Block{
					{Stmts: []ir.Stmt{
						&ir.BlockStmt{Blocks: []*ir.Block{
							{Stmts: []ir.Stmt{
								&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(7)}, Target: 41, Location: ir.Location{Col: 1, Row: 431}},
								&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 431}},
							}},
						}},
						&ir.MakeSetStmt{Target: 41},
					}},
				}, Location: ir.Location{Col: 1, Row: 431}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(40)}, Set: 41, Location: ir.Location{Col: 1, Row: 431}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(41)}, Object: 2, Location: ir.Location{Col: 1, Row: 431}},
				&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(7)}, Value: ir.Operand{Value: ir.Local(41)}, Object: 2, Location: ir.Location{Col: 1, Row: 431}},
			}}, Location: ir.Location{Col: 2, Row: 432}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 440}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.permitted_rights", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 8, Row: 441}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 8, Row: 441}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 2, Row: 441}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 2, Row: 441}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 8, Location: ir.Location{Col: 2, Row: 441}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(8)},
			}, Result: 9, Location: ir.Location{Col: 2, Row: 441}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(9)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 2, Row: 441}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.fit", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 10, Location: ir.Location{Col: 2, Row: 442}},
			&ir.ScanStmt{Source: 10, Key: 11, Value: 12, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 2, Row: 442}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 2, Row: 442}},
				&ir.CallStmt{Func: "g0.data.openvox.signing.unnamed", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
					{Value: ir.Local(13)},
				}, Result: 15, Location: ir.Location{Col: 32, Row: 443}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 16, Location: ir.Location{Col: 32, Row: 443}},
				&ir.CallStmt{Func: "sort", Args: []ir.Operand{
					{Value: ir.Local(16)},
				}, Result: 17, Location: ir.Location{Col: 27, Row: 443}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 27, Row: 443}},
				&ir.MakeNumberRefStmt{Index: 4, Target: 19, Location: ir.Location{Col: 15, Row: 443}},
				&ir.MakeNumberRefStmt{Index: 37, Target: 20, Location: ir.Location{Col: 15, Row: 443}},
				&ir.CallStmt{Func: "array.slice", Args: []ir.Operand{
					{Value: ir.Local(18)},
					{Value: ir.Local(19)},
					{Value: ir.Local(20)},
				}, Result: 21, Location: ir.Location{Col: 15, Row: 443}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 15, Row: 443}},
				&ir.ScanStmt{Source: 22, Key: 23, Value: 24, Block: &ir.Block{Stmts: []ir.Stmt{
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 25, Location: ir.Location{Col: 2, Row: 443}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(24)}, Target: 26, Location: ir.Location{Col: 2, Row: 443}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.brief", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(26)},
					}, Result: 27, Location: ir.Location{Col: 91, Row: 444}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 28, Location: ir.Location{Col: 91, Row: 444}},
					&ir.MakeArrayStmt{Capacity: 1, Target: 29, Location: ir.Location{Col: 9, Row: 444}},
					&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(28)}, Array: 29, Location: ir.Location{Col: 9, Row: 444}},
					&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
						{Value: ir.StringIndex(155)},
						{Value: ir.Local(29)},
					}, Result: 30, Location: ir.Location{Col: 9, Row: 444}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(30)}, Target: 31, Location: ir.Location{Col: 9, Row: 444}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(31)}, Target: 32, Location: ir.Location{Col: 2, Row: 444}},
					&ir.BlockStmt{Blocks: []*ir.Block{
						{Stmts: []ir.Stmt{
							&ir.BlockStmt{Blocks: []*ir.Block{
								{Stmts: []ir.Stmt{
									&ir.DotStmt{Source: ir.Operand{Value: ir.Local(2)}, Key: ir.Operand{Value: ir.Local(13)}, Target: 33, Location: ir.Location{Col: 1, Row: 440}},
									&ir.BreakStmt{Index: 1, Location: ir.Location{Col: 1, Row: 440}},
								}},
							}},
							&ir.MakeSetStmt{Target: 33},
						}},
					}, Location: ir.Location{Col: 1, Row: 440}},
					&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(32)}, Set: 33, Location: ir.Location{Col: 1, Row: 440}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(13)}, Value: ir.Operand{Value: ir.Local(33)}, Object: 2, Location: ir.Location{Col: 1, Row: 440}},
					&ir.ObjectInsertStmt{Key: ir.Operand{Value: ir.Local(13)}, Value: ir.Operand{Value: ir.Local(33)}, Object: 2, Location: ir.Location{Col: 1, Row: 440}},
				}}, Location: ir.Location{Col: 2, Row: 443}},
			}}, Location: ir.Location{Col: 2, Row: 442}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 410}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"misses",
	}},
	{Name: "g0.data.openvox.signing.near_misses", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 86}},
			&ir.MakeArrayStmt{Target: 4, Location: ir.Location{Col: 16, Row: 86}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.near", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 18, Row: 87}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 18, Row: 87}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.first", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(6)},
					}, Result: 7, Location: ir.Location{Col: 12, Row: 87}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 12, Row: 87}},
					&ir.ScanStmt{Source: 8, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 2, Row: 87}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 87}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.misses", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
						}, Result: 13, Location: ir.Location{Col: 89, Row: 88}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 89, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 89, Row: 88}},
						&ir.CallStmt{Func: "sort", Args: []ir.Operand{
							{Value: ir.Local(15)},
						}, Result: 16, Location: ir.Location{Col: 84, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 84, Row: 88}},
						&ir.CallStmt{Func: "concat", Args: []ir.Operand{
							{Value: ir.StringIndex(38)},
							{Value: ir.Local(17)},
						}, Result: 18, Location: ir.Location{Col: 71, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 71, Row: 88}},
						&ir.MakeNumberRefStmt{Index: 29, Target: 20, Location: ir.Location{Col: 67, Row: 88}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.cut", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(19)},
							{Value: ir.Local(20)},
						}, Result: 21, Location: ir.Location{Col: 67, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 67, Row: 88}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 23, Location: ir.Location{Col: 43, Row: 88}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(23)}, Key: ir.Operand{Value: ir.Local(12)}, Target: 24, Location: ir.Location{Col: 43, Row: 88}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(24)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 25, Location: ir.Location{Col: 43, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(25)}, Target: 26, Location: ir.Location{Col: 43, Row: 88}},
						&ir.MakeArrayStmt{Capacity: 2, Target: 27, Location: ir.Location{Col: 9, Row: 88}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(26)}, Array: 27, Location: ir.Location{Col: 9, Row: 88}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(22)}, Array: 27, Location: ir.Location{Col: 9, Row: 88}},
						&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
							{Value: ir.StringIndex(156)},
							{Value: ir.Local(27)},
						}, Result: 28, Location: ir.Location{Col: 9, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(28)}, Target: 29, Location: ir.Location{Col: 9, Row: 88}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(29)}, Target: 30, Location: ir.Location{Col: 2, Row: 88}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(30)}, Array: 4, Location: ir.Location{Col: 16, Row: 86}},
					}}, Location: ir.Location{Col: 2, Row: 87}},
				}},
			}, Location: ir.Location{Col: 16, Row: 86}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 31, Location: ir.Location{Col: 16, Row: 86}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(31)}, Target: 3, Location: ir.Location{Col: 1, Row: 86}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 86}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 86}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 86}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"near_misses",
	}},
	{Name: "g0.data.openvox.signing.far", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 101}},
			&ir.NotStmt{Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.CallStmt{Func: "g0.data.openvox.signing.matching", Args: []ir.Operand{
					{Value: ir.Local(0)},
					{Value: ir.Local(1)},
				}, Result: 4, Location: ir.Location{Col: 23, Row: 101}},
				&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 23, Row: 101}},
			}}, Location: ir.Location{Col: 23, Row: 101}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.other_names", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 5, Location: ir.Location{Col: 8, Row: 101}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 8, Row: 101}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 3, Location: ir.Location{Col: 1, Row: 101}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 101}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 101}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 103}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.matching", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 17, Row: 103}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(4)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 17, Row: 103}},
			&ir.MakeSetStmt{Target: 5, Location: ir.Location{Col: 1, Row: 103}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 3, Location: ir.Location{Col: 1, Row: 103}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 103}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 103}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 101}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"far",
	}},
	{Name: "g0.data.openvox.signing.far_misses", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 91}},
			&ir.MakeArrayStmt{Target: 4, Location: ir.Location{Col: 15, Row: 91}},
			&ir.BlockStmt{Blocks: []*ir.Block{
				{Stmts: []ir.Stmt{
					&ir.CallStmt{Func: "g0.data.openvox.signing.far", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
					}, Result: 5, Location: ir.Location{Col: 18, Row: 92}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(5)}, Target: 6, Location: ir.Location{Col: 18, Row: 92}},
					&ir.CallStmt{Func: "g0.data.openvox.signing.first", Args: []ir.Operand{
						{Value: ir.Local(0)},
						{Value: ir.Local(1)},
						{Value: ir.Local(6)},
					}, Result: 7, Location: ir.Location{Col: 12, Row: 92}},
					&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(7)}, Target: 8, Location: ir.Location{Col: 12, Row: 92}},
					&ir.ScanStmt{Source: 8, Key: 9, Value: 10, Block: &ir.Block{Stmts: []ir.Stmt{
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 11, Location: ir.Location{Col: 2, Row: 92}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 12, Location: ir.Location{Col: 2, Row: 92}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(89)}, Target: 13, Location: ir.Location{Col: 2, Row: 93}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(13)}, Key: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 2, Row: 93}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 2, Row: 93}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(15)}, Key: ir.Operand{Value: ir.StringIndex(99)}, Target: 16, Location: ir.Location{Col: 122, Row: 94}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(16)}, Key: ir.Operand{Value: ir.StringIndex(100)}, Target: 17, Location: ir.Location{Col: 122, Row: 94}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(17)}, Target: 18, Location: ir.Location{Col: 122, Row: 94}},
						&ir.CallStmt{Func: "g0.data.openvox.signing.listed", Args: []ir.Operand{
							{Value: ir.Local(0)},
							{Value: ir.Local(1)},
							{Value: ir.Local(18)},
						}, Result: 19, Location: ir.Location{Col: 115, Row: 94}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 20, Location: ir.Location{Col: 115, Row: 94}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(15)}, Key: ir.Operand{Value: ir.StringIndex(34)}, Target: 21, Location: ir.Location{Col: 86, Row: 94}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(21)}, Target: 22, Location: ir.Location{Col: 86, Row: 94}},
						&ir.DotStmt{Source: ir.Operand{Value: ir.Local(0)}, Key: ir.Operand{Value: ir.StringIndex(10)}, Target: 23, Location: ir.Location{Col: 99, Row: 94}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(23)}, Target: 24, Location: ir.Location{Col: 99, Row: 94}},
						&ir.MakeArrayStmt{Capacity: 3, Target: 25, Location: ir.Location{Col: 9, Row: 94}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(22)}, Array: 25, Location: ir.Location{Col: 9, Row: 94}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(24)}, Array: 25, Location: ir.Location{Col: 9, Row: 94}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(20)}, Array: 25, Location: ir.Location{Col: 9, Row: 94}},
						&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
							{Value: ir.StringIndex(157)},
							{Value: ir.Local(25)},
						}, Result: 26, Location: ir.Location{Col: 9, Row: 94}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(26)}, Target: 27, Location: ir.Location{Col: 9, Row: 94}},
						&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(27)}, Target: 28, Location: ir.Location{Col: 2, Row: 94}},
						&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(28)}, Array: 4, Location: ir.Location{Col: 15, Row: 91}},
					}}, Location: ir.Location{Col: 2, Row: 92}},
				}},
			}, Location: ir.Location{Col: 15, Row: 91}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 29, Location: ir.Location{Col: 15, Row: 91}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(29)}, Target: 3, Location: ir.Location{Col: 1, Row: 91}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 91}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 91}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 91}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"far_misses",
	}},
	{Name: "g0.data.openvox.signing.reasons", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 24}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.faults", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 43, Row: 24}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 43, Row: 24}},
			&ir.CallStmt{Func: "sort", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 38, Row: 24}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 38, Row: 24}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.near_misses", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 52, Row: 24}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 52, Row: 24}},
			&ir.CallStmt{Func: "array.concat", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 25, Row: 24}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 25, Row: 24}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.far_misses", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 12, Location: ir.Location{Col: 66, Row: 24}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 66, Row: 24}},
			&ir.CallStmt{Func: "array.concat", Args: []ir.Operand{
				{Value: ir.Local(11)},
				{Value: ir.Local(13)},
			}, Result: 14, Location: ir.Location{Col: 12, Row: 24}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 12, Row: 24}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(15)}, Target: 3, Location: ir.Location{Col: 1, Row: 24}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 24}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 24}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 24}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"reasons",
	}},
	{Name: "g0.data.openvox.signing.number_of_reasons", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 26}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.faults", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 29, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 29, Row: 26}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(5)},
			}, Result: 6, Location: ir.Location{Col: 23, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 23, Row: 26}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.near", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 8, Location: ir.Location{Col: 45, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(8)}, Target: 9, Location: ir.Location{Col: 45, Row: 26}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(9)},
			}, Result: 10, Location: ir.Location{Col: 39, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(10)}, Target: 11, Location: ir.Location{Col: 39, Row: 26}},
			&ir.CallStmt{Func: "plus", Args: []ir.Operand{
				{Value: ir.Local(7)},
				{Value: ir.Local(11)},
			}, Result: 12, Location: ir.Location{Col: 23, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 13, Location: ir.Location{Col: 23, Row: 26}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.far", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 14, Location: ir.Location{Col: 60, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(14)}, Target: 15, Location: ir.Location{Col: 60, Row: 26}},
			&ir.CallStmt{Func: "count", Args: []ir.Operand{
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 54, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 54, Row: 26}},
			&ir.CallStmt{Func: "plus", Args: []ir.Operand{
				{Value: ir.Local(13)},
				{Value: ir.Local(17)},
			}, Result: 18, Location: ir.Location{Col: 23, Row: 26}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(18)}, Target: 19, Location: ir.Location{Col: 23, Row: 26}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(19)}, Target: 3, Location: ir.Location{Col: 1, Row: 26}},
		}},
		{Stmts: []ir.Stmt{
			&ir.IsDefinedStmt{Source: 3, Location: ir.Location{Col: 1, Row: 26}},
			&ir.AssignVarOnceStmt{Source: ir.Operand{Value: ir.Local(3)}, Target: 2, Location: ir.Location{Col: 1, Row: 26}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 26}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"number_of_reasons",
	}},
	{Name: "g0.data.openvox.signing.refusals", Params: []ir.Local{
		0,
		1,
	}, Return: 2, Blocks: []*ir.Block{
		{Stmts: []ir.Stmt{
			&ir.MakeSetStmt{Target: 2, Location: ir.Location{Col: 1, Row: 18}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 18}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.reasons", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 50, Row: 18}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 50, Row: 18}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.most_reasons", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 62, Row: 18}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 62, Row: 18}},
			&ir.MakeNumberRefStmt{Index: 4, Target: 8, Location: ir.Location{Col: 38, Row: 18}},
			&ir.CallStmt{Func: "array.slice", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(8)},
				{Value: ir.Local(7)},
			}, Result: 9, Location: ir.Location{Col: 38, Row: 18}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 38, Row: 18}},
			&ir.ScanStmt{Source: 10, Key: 11, Value: 12, Block: &ir.Block{Stmts: []ir.Stmt{
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 13, Location: ir.Location{Col: 26, Row: 18}},
				&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(12)}, Target: 14, Location: ir.Location{Col: 26, Row: 18}},
				&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(14)}, Set: 2, Location: ir.Location{Col: 1, Row: 18}},
			}}, Location: ir.Location{Col: 26, Row: 18}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ResetLocalStmt{Target: 3, Location: ir.Location{Col: 1, Row: 20}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.number_of_reasons", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 4, Location: ir.Location{Col: 91, Row: 20}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(4)}, Target: 5, Location: ir.Location{Col: 91, Row: 20}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.most_reasons", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 6, Location: ir.Location{Col: 111, Row: 20}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(6)}, Target: 7, Location: ir.Location{Col: 111, Row: 20}},
			&ir.CallStmt{Func: "gt", Args: []ir.Operand{
				{Value: ir.Local(5)},
				{Value: ir.Local(7)},
			}, Result: 8, Location: ir.Location{Col: 91, Row: 20}},
			&ir.NotEqualStmt{A: ir.Operand{Value: ir.Local(8)}, B: ir.Operand{Value: ir.Bool(false)}, Location: ir.Location{Col: 91, Row: 20}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.number_of_reasons", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 9, Location: ir.Location{Col: 53, Row: 20}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(9)}, Target: 10, Location: ir.Location{Col: 53, Row: 20}},
			&ir.CallStmt{Func: "g0.data.openvox.signing.most_reasons", Args: []ir.Operand{
				{Value: ir.Local(0)},
				{Value: ir.Local(1)},
			}, Result: 11, Location: ir.Location{Col: 73, Row: 20}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(11)}, Target: 12, Location: ir.Location{Col: 73, Row: 20}},
			&ir.CallStmt{Func: "minus", Args: []ir.Operand{
				{Value: ir.Local(10)},
				{Value: ir.Local(12)},
			}, Result: 13, Location: ir.Location{Col: 53, Row: 20}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(13)}, Target: 14, Location: ir.Location{Col: 53, Row: 20}},
			&ir.MakeArrayStmt{Capacity: 1, Target: 15, Location: ir.Location{Col: 19, Row: 20}},
			&ir.ArrayAppendStmt{Value: ir.Operand{Value: ir.Local(14)}, Array: 15, Location: ir.Location{Col: 19, Row: 20}},
			&ir.CallStmt{Func: "sprintf", Args: []ir.Operand{
				{Value: ir.StringIndex(158)},
				{Value: ir.Local(15)},
			}, Result: 16, Location: ir.Location{Col: 19, Row: 20}},
			&ir.AssignVarStmt{Source: ir.Operand{Value: ir.Local(16)}, Target: 17, Location: ir.Location{Col: 19, Row: 20}},
			&ir.SetAddStmt{Value: ir.Operand{Value: ir.Local(17)}, Set: 2, Location: ir.Location{Col: 1, Row: 20}},
		}},
		{Stmts: []ir.Stmt{
			&ir.ReturnLocalStmt{Source: 2, Location: ir.Location{Col: 1, Row: 18}},
		}},
	}, Path: []string{
		"g0",
		"openvox",
		"signing",
		"refusals",
	}},
}}}

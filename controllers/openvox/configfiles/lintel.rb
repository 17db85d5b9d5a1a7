require 'json'
require 'tempfile'

# Gives each report to openvox-report, which knows whom to send it to. It is given as a file,
# because a program that a Puppet server starts has no standard input.
Puppet::Reports.register_report(:lintel) do
  desc 'Sends reports to the endpoints of ReportProcessors.'

  def process
    # Ruby takes no folder that anybody may write to for a temporary one, such as /tmp on a volume.
    Tempfile.create('report', Puppet[:vardir]) do |file|
      file.write(JSON.generate(to_data_hash))
      file.close
      result = Puppet::Util::Execution.execute(['/usr/local/bin/lintel-openvox-report', file.path], failonfail: false, combine: true)
      result.to_s.each_line { |line| Puppet.warning(line.chomp) }
      Puppet.err("The report of #{host} is lost, at least to one endpoint: openvox-report has exited with #{result.exitstatus}") unless result.exitstatus.zero?
    end
  end
end
